// Status and Result: how every room reports failure.  No exceptions are thrown by our own code; a Status never allocates, so that
// running out of memory can be reported too.
#pragma once
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace tdl {

// The values are those of tdl_status (capi/include/treadle/status.h); capi/src/error.cpp asserts that they agree.
enum class Code : int32_t {
  ok = 0,
  pending = 1,
  invalid_argument = -1,
  range = -2,
  state = -3,
  conflict = -4,
  limit = -5,
  not_found = -6,
  busy = -7,
  unsupported = -8,
  io = -9,
  format = -10,
  out_of_memory = -11,
  device = -12,
  device_lost = -13,
  buffer_too_small = -14,
  version = -15,
  cancelled = -16,
  internal = -17,
  numeric = -18,
};

// What happened, and where.  About 290 bytes; a success initialises only the code.
class [[nodiscard]] Status {
 public:
  static constexpr uint32_t kMessageBytes = 256;

  Status() noexcept : code_(Code::ok) {}
  Status(const Status& other) noexcept : code_(Code::ok) { *this = other; }
  Status& operator=(const Status& other) noexcept;

  bool ok() const noexcept { return code_ == Code::ok; }
  Code code() const noexcept { return code_; }
  // Meaningful only when !ok().
  const char* message() const noexcept { return ok() ? "" : message_; }
  int32_t native_code() const noexcept { return ok() ? 0 : native_code_; }  // errno, cudaError_t or cublasStatus_t
  int32_t row() const noexcept { return ok() ? -1 : row_; }
  int32_t seq() const noexcept { return ok() ? -1 : seq_; }
  uint64_t required() const noexcept { return ok() ? 0 : required_; }       // bytes or entries

  // Only on a failure; they return *this, so that they chain.
  Status& at_row(int64_t row) noexcept { row_ = static_cast<int32_t>(row); return *this; }
  Status& at_seq(int64_t seq) noexcept { seq_ = static_cast<int32_t>(seq); return *this; }
  Status& native(int32_t code) noexcept { native_code_ = code; return *this; }
  Status& needs(uint64_t amount) noexcept { required_ = amount; return *this; }

 private:
  friend Status fail(Code code, const char* format, ...) noexcept;
  Code code_;
  int32_t native_code_, row_, seq_;
  uint64_t required_;
  char message_[kMessageBytes];  // UTF-8; names, shapes and offsets, never addresses
};

// A failure with a printf-style message, cut at a UTF-8 boundary when it is too long.  `code` must not be ok.
[[gnu::format(printf, 2, 3)]] Status fail(Code code, const char* format, ...) noexcept;

// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(true) { new (&value_) T(std::move(value)); }
  Result(Status status) noexcept : has_value_(false) { new (&status_) Status(std::move(status)); }
  Result(Result&& other) noexcept : has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(std::move(other.value_));
    else new (&status_) Status(other.status_);
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (has_value_) value_.~T();
    else status_.~Status();
  }
  bool ok() const noexcept { return has_value_; }
  Status status() const noexcept { return has_value_ ? Status() : status_; }
  T& value() & noexcept { return value_; }  // only when ok()
  const T& value() const& noexcept { return value_; }
  T&& value() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return &value_; }
  T& operator*() noexcept { return value_; }

 private:
  bool has_value_;
  union {
    T value_;
    Status status_;
  };
};

}  // namespace tdl

#define TDL_CONCAT_INNER(a, b) a##b
#define TDL_CONCAT(a, b) TDL_CONCAT_INNER(a, b)
// Returns from the enclosing function when `expression`, a Status, is a failure.
#define TDL_TRY(expression)                                                          \
  do {                                                                               \
    if (::tdl::Status tdl_status_ = (expression); !tdl_status_.ok()) return tdl_status_; \
  } while (0)
// TDL_ASSIGN(auto x, f()): x becomes the value of a Result, or the enclosing function returns its Status.
#define TDL_ASSIGN(declaration, expression) TDL_ASSIGN_INNER(TDL_CONCAT(tdl_result_, __LINE__), declaration, expression)
#define TDL_ASSIGN_INNER(name, declaration, expression) \
  auto name = (expression);                             \
  if (!name.ok()) return name.status();                 \
  declaration = std::move(name).value()
