#include "runtime/load/tensor_header.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/fault.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

using namespace tdl;
using tdl::test::safetensors_bytes;

namespace {

struct Read {
  Status status;
  std::vector<TensorInfo> tensors;
};

Read read_bytes(const std::string& bytes) {
  Read read;
  Source source;
  REQUIRE(source.add_memory("x.safetensors", bytes.data(), bytes.size()).ok());
  const Result<SourceFile> file = source.open("x.safetensors");
  REQUIRE(file.ok());
  read.status = read_tensor_header(file.value(), "x.safetensors", 3, &read.tensors);
  return read;
}

Read read_header(const std::string& header, uint64_t data_bytes) {
  return read_bytes(safetensors_bytes(header, std::string(data_bytes, 'd')));
}

// One tensor `t` of the given dtype and shape, and the offsets of its data.
std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

void refused(const Read& read, const char* part) {
  CAPTURE(std::string(read.status.message()));
  CHECK(read.status.code() == Code::format);
  CHECK(std::string(read.status.message()).find("'x.safetensors'") == 0);
  CHECK(std::string(read.status.message()).find(part) != std::string::npos);
}

}  // namespace

TEST_SUITE("tensor_header") {
  TEST_CASE("reads tensors of every type, with metadata and padding") {
    const Read read = read_header(R"({"__metadata__":{"format":"pt"},
        "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
        "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
        "h":{"dtype":"F16","shape":[1],"data_offsets":[16,18],"extra":[1]},
        "q":{"dtype":"I64","shape":[1],"data_offsets":[18,26]},
        "f4":{"dtype":"F4","shape":[2,3],"data_offsets":[26,29]}}     )", 29);
    REQUIRE(read.status.ok());
    REQUIRE(read.tensors.size() == 5);
    const TensorInfo &a = read.tensors[0], &b = read.tensors[1], &f4 = read.tensors[2], &h = read.tensors[3], &q = read.tensors[4];
    CHECK(a.name == "a");
    CHECK(a.dtype == DType::f32);
    CHECK(a.shape.empty());
    CHECK(a.bytes == 4);
    CHECK(b.dtype == DType::bf16);
    CHECK(b.shape == std::vector<uint64_t>{2, 3});
    CHECK(b.bytes == 12);
    CHECK(b.offset == a.offset + 4);
    CHECK(b.file == 3);
    CHECK(h.dtype == DType::f16);
    CHECK(h.supported);
    CHECK(q.stored_dtype == "I64");
    CHECK_FALSE(q.supported);
    CHECK(f4.bytes == 3);
  }

  TEST_CASE("the data begins behind the header") {
    const std::string header = tensor("\"F32\"", "[1]", "[0,4]");
    const Read read = read_header(header, 4);
    REQUIRE(read.status.ok());
    CHECK(read.tensors[0].offset == 8 + header.size());
  }

  TEST_CASE("tensors without elements take no room, wherever they are") {
    const Read read = read_header(R"({"z":{"dtype":"F32","shape":[0,5],"data_offsets":[4,4]},
        "a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}, "e":{"dtype":"BF16","shape":[3,0],"data_offsets":[8,8]},
        "s":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}, "b":{"dtype":"F4","shape":[0,3],"data_offsets":[0,0]}})", 8);
    CHECK(read.status.ok());
    refused(
        read_header(
            R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}, "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
        "'z'");
    CHECK(read_header("{}", 0).status.ok());
  }

  TEST_CASE("refuses a file too short for its header's length") {
    for (size_t bytes = 0; bytes < 8; ++bytes) refused(read_bytes(std::string(bytes, '\0')), "too short");
    refused(read_bytes(std::string(8, '\0')), "does not begin with '{'");
  }

  TEST_CASE("refuses a header length that leads out of the file or is above the limit") {
    for (const int64_t off : {int64_t{1}, int64_t{100}, INT64_MAX - 100, int64_t{-3} /* 2^64 - 1 */})
      refused(read_bytes(safetensors_bytes("{}", "", off)), "does not fit");
    CHECK(read_bytes(safetensors_bytes("{}", "", 0)).status.ok());
    std::string large = safetensors_bytes("{" + std::string(kMostHeaderBytes - 1, ' ') + "}", "");
    refused(read_bytes(large), "above the limit");
  }

  TEST_CASE("refuses a header that is not one JSON object from its first byte") {
    refused(read_header("", 0), "does not begin with '{'");
    refused(read_header(" {}", 0), "does not begin with '{'");
    refused(read_header("[]", 0), "does not begin with '{'");
    refused(read_header("{", 0), "bad JSON");
    refused(read_header(std::string("{}\0", 3), 0), "bad JSON");
    refused(read_header("{\"\xFF\":1}", 0), "UTF-8");
    refused(
        read_header(
            R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
        "'t' is there twice");
    std::string deep = R"({"t":)" + std::string(100, '[');
    refused(read_header(deep, 0), "nested too deep");
  }

  TEST_CASE("refuses entries that lack a part or have it in another type") {
    for (const char* header : {R"({"t":1})", R"({"t":null})", R"({"t":{}})", R"({"t":{"shape":[1],"data_offsets":[0,4]}})",
                               R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", R"({"t":{"dtype":"F32","shape":[1]}})"})
      refused(read_header(header, 4), "'t'");
    refused(read_header(tensor("7", "[1]", "[0,4]"), 4), "no dtype");
    refused(read_header(tensor("\"F33\"", "[1]", "[0,4]"), 4), "unknown dtype 'F33'");
    refused(read_header(tensor("\"f32\"", "[1]", "[0,4]"), 4), "unknown dtype");
    refused(read_header(tensor("\"F32\"", "4", "[0,4]"), 4), "no shape");
    for (const char* shape : {"[-1]", "[-0]", "[1.0]", "[1e0]", "[\"1\"]", "[null]", "[[1]]", "[18446744073709551616]", "[true]"})
      refused(read_header(tensor("\"F32\"", shape, "[0,4]"), 4), "non-negative integers");
    for (const char* offsets : {"[]", "[0]", "[0,4,8]", "[-0,4]", "[0,4.0]", "[\"0\",4]", "4", "null"})
      refused(read_header(tensor("\"F32\"", "[1]", offsets), 4), "data_offsets");
  }

  TEST_CASE("refuses shapes whose product or bytes overflow") {
    const char* most = "18446744073709551615";
    for (const std::string& shape :
         {std::string("[9223372036854775808]"), std::string("[4294967296,4294967296]"), std::string("[") + most + "]",
          std::string("[2,") + most + "]", std::string("[4611686018427387904]"), std::string("[0,") + most + ",2]",
          std::string("[") + most + ",2,0]"})
      refused(read_header(tensor("\"F32\"", shape, "[0,0]"), 0), "too large");
    refused(read_header(tensor("\"F32\"", "[576460752303423487]", "[0,4]"), 4), "need 2305843009213693948");
  }

  TEST_CASE("refuses elements that do not fill whole bytes") {
    refused(read_header(tensor("\"F4\"", "[3]", "[0,2]"), 2), "whole bytes");
  }

  TEST_CASE("refuses ranges that are reversed, lead out of the data, wrap or do not fit the shape") {
    refused(read_header(tensor("\"F32\"", "[1]", "[4,0]"), 4), "data_offsets [4, 0]");
    refused(read_header(tensor("\"F32\"", "[1]", "[0,4]"), 3), "do not lie in the 3 bytes");
    refused(read_header(tensor("\"F32\"", "[1]", "[1,5]"), 4), "do not lie");
    refused(read_header(tensor("\"F32\"", "[1]", "[18446744073709551615,3]"), 4), "do not lie");
    refused(read_header(tensor("\"F32\"", "[1]", "[18446744073709551612,18446744073709551615]"), 4), "do not lie");
    refused(read_header(tensor("\"F32\"", "[1]", "[0,3]"), 3), "span 3 bytes, but its shape and dtype need 4");
    refused(read_header(tensor("\"BF16\"", "[1]", "[0,4]"), 4), "need 2");
    refused(read_header(tensor("\"F32\"", "[0]", "[0,4]"), 4), "need 0");
  }

  TEST_CASE("refuses overlaps, gaps and bytes that belong to no tensor") {
    const auto two = [](const char* a, const char* b) {
      return std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)") + a +
             R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}";
    };
    CHECK(read_header(two("[4,8]", "[0,4]"), 8).status.ok());
    refused(read_header(two("[0,4]", "[0,4]"), 8), "inside another's");
    refused(read_header(two("[0,4]", "[2,6]"), 8), "inside another's");
    refused(read_header(two("[0,4]", "[5,9]"), 9), "after a gap");
    refused(read_header(two("[1,5]", "[5,9]"), 9), "after a gap");
    refused(read_header(two("[0,4]", "[4,8]"), 9), "1 bytes of data after");
    refused(read_header("{}", 1), "1 bytes of data after");
  }

  TEST_CASE("refuses names with NUL and metadata that is no map of strings") {
    refused(read_header(R"({"a\u0000b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "NUL");
    for (const char* header : {R"({"__metadata__":1})", R"({"__metadata__":["a"]})", R"({"__metadata__":{"a":1}})",
                               R"({"__metadata__":{"a":{}}})", R"({"__metadata__":null})"})
      refused(read_header(header, 0), "__metadata__");
  }

  TEST_CASE("a file that shrinks, or cannot be read, is an io error") {
    const test::TempFolder folder;
    const std::string header = tensor("\"F32\"", "[1]", "[0,4]");
    const std::string path = folder.write("x.safetensors", safetensors_bytes(header, "data"));
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    const Result<SourceFile> file = source.open("x.safetensors");
    REQUIRE(file.ok());
    std::vector<TensorInfo> tensors;
    for (int call = 0; call < 2; ++call) {
      const test::Fault fault(os::Site::read_file, call);
      CHECK(read_tensor_header(file.value(), "x.safetensors", 0, &tensors).code() == Code::io);
    }
    CHECK(read_tensor_header(file.value(), "x.safetensors", 0, &tensors).ok());
    for (const uint64_t left : {8 + header.size() - 1, uint64_t{8}, uint64_t{7}, uint64_t{0}}) {
      std::filesystem::resize_file(path, left);
      CHECK(read_tensor_header(file.value(), "x.safetensors", 0, &tensors).code() == Code::io);
    }
  }
}
