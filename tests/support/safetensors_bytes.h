// Safetensors files, good and bad, as bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tdl::test {

// The header's length, the header and the data, whatever they say.
inline std::string safetensors_bytes(std::string_view header, std::string_view data, int64_t length_off_by = 0) {
  std::string bytes;
  const uint64_t length = header.size() + static_cast<uint64_t>(length_off_by);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes.append(header).append(data);
}

// A sound file: each tensor is U8 with the given bytes, one dimension.
inline std::string safetensors_file(const std::vector<std::pair<std::string, std::string>>& tensors, const char* dtype = "U8") {
  std::string header = "{", data;
  const size_t element = std::string_view(dtype) == "F32" ? 4 : std::string_view(dtype) == "U8" ? 1 : 2;
  for (const auto& [name, bytes] : tensors) {
    if (header.size() > 1) header += ",";
    header += "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(bytes.size() / element) +
              "],\"data_offsets\":[" + std::to_string(data.size()) + "," + std::to_string(data.size() + bytes.size()) + "]}";
    data += bytes;
  }
  return safetensors_bytes(header + "}", data);
}

}  // namespace tdl::test
