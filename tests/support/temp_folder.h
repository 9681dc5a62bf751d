// A folder that is gone again at the end of a test.
#pragma once
#include <string>
#include <string_view>

namespace tdl::test {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes the whole file; gives its path.
  std::string write(std::string_view name, std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace tdl::test
