#include "kernels/core/status.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace tdl;

namespace {

bool valid_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

// Counts its moves and what is alive.
struct Counted {
  int* alive;
  int moves = 0;
  explicit Counted(int* count) : alive(count) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive), moves(other.moves + 1) { ++*alive; }
  ~Counted() { --*alive; }
};

Status try_twice(const Status& first, const Status& second, int* reached) {
  TDL_TRY(first);
  ++*reached;
  TDL_TRY(second);
  ++*reached;
  return {};
}

Result<int> number(bool good) {
  if (!good) return fail(Code::io, "no number");
  return 41;
}

Result<int> one_more(bool good) {
  TDL_ASSIGN(const int value, number(good));
  return value + 1;
}

Result<std::unique_ptr<int>> boxed(bool good) {
  std::unique_ptr<int> box;
  TDL_ASSIGN(const int value, one_more(good));
  TDL_ASSIGN(box, Result<std::unique_ptr<int>>(std::make_unique<int>(value)));
  return box;
}

}  // namespace

TEST_SUITE("status") {
  TEST_CASE("is ok by default, with nothing to say") {
    const Status status;
    CHECK(status.ok());
    CHECK(status.code() == Code::ok);
    CHECK(std::string(status.message()).empty());
    CHECK(status.native_code() == 0);
    CHECK(status.row() == -1);
    CHECK(status.seq() == -1);
    CHECK(status.required() == 0);
  }

  TEST_CASE("a failure has its code and formatted message, and no place unless given") {
    const Status status = fail(Code::format, "tensor '%s': %d of %u", "x", -3, 7u);
    CHECK_FALSE(status.ok());
    CHECK(status.code() == Code::format);
    CHECK(std::string(status.message()) == "tensor 'x': -3 of 7");
    CHECK(status.native_code() == 0);
    CHECK(status.row() == -1);
    CHECK(status.seq() == -1);
    CHECK(status.required() == 0);
  }

  TEST_CASE("places, native code and amounts chain") {
    const Status status = fail(Code::range, "x").at_row(5).at_seq(2).native(-9).needs(uint64_t{1} << 40);
    CHECK(status.row() == 5);
    CHECK(status.seq() == 2);
    CHECK(status.native_code() == -9);
    CHECK(status.required() == uint64_t{1} << 40);
  }

  TEST_CASE("a copy has everything, also over an older failure, and ok over a failure is ok") {
    const Status status = fail(Code::range, "first").at_row(5).at_seq(2).native(-9).needs(77);
    Status copy = fail(Code::io, "second and longer");
    copy = status;
    CHECK(copy.code() == Code::range);
    CHECK(std::string(copy.message()) == "first");
    CHECK(copy.row() == 5);
    CHECK(copy.seq() == 2);
    CHECK(copy.native_code() == -9);
    CHECK(copy.required() == 77);
    const Status third(copy);
    CHECK(std::string(third.message()) == "first");
    copy = Status();
    CHECK(copy.ok());
    CHECK(copy.row() == -1);
    CHECK(std::string(copy.message()).empty());
  }

  TEST_CASE("a message of up to 255 bytes is whole, a longer one is its beginning") {
    for (const size_t length : {0u, 1u, 254u, 255u}) {
      const std::string text(length, 'a');
      CHECK(std::string(fail(Code::io, "%s", text.c_str()).message()) == text);
    }
    for (const size_t length : {256u, 257u, 5000u}) {
      const std::string text(length, 'a');
      CHECK(std::string(fail(Code::io, "%s", text.c_str()).message()) == text.substr(0, 255));
    }
  }

  TEST_CASE("a message that is too long is cut between characters") {
    for (const std::string character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
      for (size_t shift = 0; shift < 8; ++shift) {
        std::string text(shift, 'a');
        while (text.size() < 400) text += character;
        const std::string message = fail(Code::io, "%s", text.c_str()).message();
        CAPTURE(message);
        CHECK(valid_utf8(message));
        CHECK(text.substr(0, message.size()) == message);
        CHECK(message.size() + 2 * character.size() > 255);
      }
    }
  }

  TEST_CASE("a message that is one byte too long is cut as well") {
    const std::string front(253, 'a'), message = fail(Code::io, "%s\xE2\x82\xAC", front.c_str()).message();
    CHECK(message == front);
  }

  TEST_CASE("a whole character that ends just before the cut, then plain text") {
    const std::string text = std::string(252, 'a') + "\xE2\x82\xAC" + "bcd";
    const std::string message = fail(Code::io, "%s", text.c_str()).message();
    CHECK(valid_utf8(message));
    CHECK(message.size() >= 252);
  }

  TEST_CASE("bytes that are no UTF-8 at all do not run past the message") {
    const std::string text(400, '\x80');
    CHECK(std::string(fail(Code::io, "%s", text.c_str()).message()).empty());
  }

  TEST_CASE("TDL_TRY returns the first failure and goes on over successes") {
    int reached = 0;
    CHECK(try_twice({}, {}, &reached).ok());
    CHECK(reached == 2);
    reached = 0;
    CHECK(try_twice({}, fail(Code::busy, "b"), &reached).code() == Code::busy);
    CHECK(reached == 1);
    reached = 0;
    CHECK(std::string(try_twice(fail(Code::io, "a"), fail(Code::busy, "b"), &reached).message()) == "a");
    CHECK(reached == 0);
  }
}

TEST_SUITE("result") {
  TEST_CASE("is a value or the reason why not") {
    Result<int> good = number(true), bad = number(false);
    CHECK(good.ok());
    CHECK(*good == 41);
    CHECK(good.status().ok());
    CHECK_FALSE(bad.ok());
    CHECK(bad.status().code() == Code::io);
    CHECK(std::string(bad.status().message()) == "no number");
  }

  TEST_CASE("moves its value along, and destroys every one once") {
    int alive = 0;
    {
      Result<Counted> first = Counted(&alive);
      CHECK(alive == 1);
      Result<Counted> second = std::move(first);
      CHECK(second.ok());
      CHECK(second->moves == 2);
      const Counted out = std::move(second).value();
      CHECK(out.moves == 3);
      CHECK(alive == 3);
    }
    CHECK(alive == 0);
  }

  TEST_CASE("moves a failure along") {
    Result<std::unique_ptr<int>> first = fail(Code::limit, "too many").at_row(3);
    const Result<std::unique_ptr<int>> second = std::move(first);
    CHECK(second.status().code() == Code::limit);
    CHECK(second.status().row() == 3);
  }

  TEST_CASE("holds values that can only be moved") {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    const std::unique_ptr<int> taken = std::move(result).value();
    CHECK(*taken == 5);
    CHECK(result.value() == nullptr);
  }

  TEST_CASE("TDL_ASSIGN unwraps, or returns the failure") {
    CHECK(*one_more(true) == 42);
    CHECK(one_more(false).status().code() == Code::io);
    CHECK(**boxed(true) == 42);
    CHECK(std::string(boxed(false).status().message()) == "no number");
  }
}
