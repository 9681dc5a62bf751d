#include "kernels/core/os.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/stat.h>

#include "tests/support/fault.h"
#include "tests/support/temp_folder.h"

using namespace tdl;
using tdl::os::File;
using tdl::os::Pages;
using tdl::os::Site;
using tdl::test::Fault;
using tdl::test::TempFolder;

TEST_SUITE("os pages") {
  TEST_CASE("are zeroed, aligned and writable to the last byte") {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{4097}, uint64_t{3} << 20}) {
      auto pages = Pages::map(bytes);
      REQUIRE(pages.ok());
      CHECK(pages->bytes() == bytes);
      CHECK(reinterpret_cast<uintptr_t>(pages->data()) % 4096 == 0);
      uint64_t set = 0;
      for (uint64_t i = 0; i < bytes; ++i) set += pages->data()[i] != std::byte{0};
      CHECK(set == 0);
      pages->data()[bytes - 1] = std::byte{7};
      CHECK(pages->data()[bytes - 1] == std::byte{7});
    }
  }

  TEST_CASE("of 0 bytes are no memory and no failure") {
    auto pages = Pages::map(0);
    REQUIRE(pages.ok());
    CHECK(pages->data() == nullptr);
    CHECK(pages->bytes() == 0);
  }

  TEST_CASE("more than there can be is out of memory, with the amount") {
    for (const uint64_t bytes : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 60}) {
      const Status status = Pages::map(bytes).status();
      CHECK(status.code() == Code::out_of_memory);
      CHECK(status.required() == bytes);
      CHECK(status.native_code() == ENOMEM);
    }
  }

  TEST_CASE("can be moved, and the one they came from is empty or has what was there") {
    Pages first = std::move(Pages::map(100)).value();
    std::byte* const data = first.data();
    Pages second(std::move(first));
    CHECK(second.data() == data);
    CHECK(first.data() == nullptr);
    CHECK(first.bytes() == 0);
    Pages third = std::move(Pages::map(200)).value();
    third = std::move(second);
    CHECK(third.data() == data);
    CHECK(third.bytes() == 100);
  }

  TEST_CASE("a fault is out of memory") {
    const Fault fault(Site::map_pages);
    CHECK(Pages::map(100).status().code() == Code::out_of_memory);
    CHECK(fault.hits() == 1);
    CHECK(Pages::map(100).ok());
  }
}

TEST_SUITE("os files") {
  TEST_CASE("are read at any offset, whole and in parts") {
    const TempFolder folder;
    const auto file = File::open(folder.write("f", "0123456789").c_str());
    REQUIRE(file.ok());
    CHECK(file.value().bytes() == 10);
    std::string text(10, '-');
    CHECK(file.value().read(0, text.data(), 10).ok());
    CHECK(text == "0123456789");
    CHECK(file.value().read(7, text.data(), 3).ok());
    CHECK(text == "7893456789");
    CHECK(file.value().read(10, text.data(), 0).ok());
  }

  TEST_CASE("a read past the end is an io error and reads nothing") {
    const TempFolder folder;
    const auto file = File::open(folder.write("f", "0123456789").c_str());
    REQUIRE(file.ok());
    std::string text(20, '-');
    for (const auto& [offset, bytes] : std::vector<std::pair<uint64_t, uint64_t>>{{0, 11}, {10, 1}, {11, 0}, {5, 8}, {5, UINT64_MAX}, {UINT64_MAX, 2}})
      CHECK(file.value().read(offset, text.data(), bytes).code() == Code::io);
    CHECK(text == std::string(20, '-'));
  }

  TEST_CASE("an empty file has no bytes") {
    const TempFolder folder;
    const auto file = File::open(folder.write("f", "").c_str());
    REQUIRE(file.ok());
    CHECK(file.value().bytes() == 0);
  }

  TEST_CASE("a file that became shorter is an io error that says so") {
    const TempFolder folder;
    const std::string path = folder.write("f", "0123456789");
    const auto file = File::open(path.c_str());
    REQUIRE(file.ok());
    std::filesystem::resize_file(path, 4);
    std::string text(10, '-');
    const Status status = file.value().read(0, text.data(), 10);
    CHECK(status.code() == Code::io);
    CHECK(std::string(status.message()).find("shorter") != std::string::npos);
  }

  TEST_CASE("a file that is not there is not found, and the message names it") {
    const TempFolder folder;
    const Status status = File::open(folder.file("none").c_str()).status();
    CHECK(status.code() == Code::not_found);
    CHECK(status.native_code() == ENOENT);
    CHECK(std::string(status.message()).find("none") != std::string::npos);
    const std::string below = folder.write("f", "x") + "/deeper";
    CHECK(File::open(below.c_str()).status().code() == Code::not_found);
  }

  TEST_CASE("a folder, a pipe and a link in a circle are io errors, and none of them hangs") {
    const TempFolder folder;
    CHECK(File::open(folder.path().c_str()).status().code() == Code::io);
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    const Status pipe = File::open(folder.file("pipe").c_str()).status();
    CHECK(pipe.code() == Code::io);
    CHECK(std::string(pipe.message()).find("not a regular file") != std::string::npos);
    std::filesystem::create_symlink(folder.file("circle"), folder.file("circle"));
    const Status circle = File::open(folder.file("circle").c_str()).status();
    CHECK(circle.code() == Code::io);
    CHECK(circle.native_code() == ELOOP);
  }

  TEST_CASE("links are followed") {
    const TempFolder folder;
    folder.write("f", "0123456789");
    std::filesystem::create_symlink(folder.file("f"), folder.file("link"));
    const auto file = File::open(folder.file("link").c_str());
    REQUIRE(file.ok());
    CHECK(file.value().bytes() == 10);
  }

  TEST_CASE("can be moved") {
    const TempFolder folder;
    File first = std::move(File::open(folder.write("f", "abc").c_str())).value();
    File second(std::move(first));
    char text[4] = "---";
    CHECK(second.read(0, text, 3).ok());
    CHECK(std::string(text) == "abc");
    CHECK(first.bytes() == 0);
    File third = std::move(File::open(folder.write("g", "12345").c_str())).value();
    third = std::move(second);
    CHECK(third.bytes() == 3);
    CHECK(third.read(1, text, 2).ok());
    CHECK(std::string(text) == "bcc");
  }

  TEST_CASE("are closed with their object, also after a failure") {
    const TempFolder folder;
    const std::string path = folder.write("f", "abc");
    const auto descriptors = [] {
      size_t count = 0;
      for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
      return count;
    };
    const size_t before = descriptors();
    for (int i = 0; i < 10; ++i) {
      auto file = File::open(path.c_str());
      REQUIRE(file.ok());
      *file = File();
      CHECK_FALSE(File::open(folder.path().c_str()).ok());
      const Fault fault(Site::stat_file);
      CHECK_FALSE(File::open(path.c_str()).ok());
    }
    CHECK(descriptors() == before);
  }

  TEST_CASE("faults of opening, looking and reading are io errors") {
    const TempFolder folder;
    const std::string path = folder.write("f", "abc");
    for (const Site site : {Site::open_file, Site::stat_file}) {
      const Fault fault(site);
      const Status status = File::open(path.c_str()).status();
      CHECK(status.code() == Code::io);
      CHECK(status.native_code() == EIO);
      CHECK(fault.hits() == 1);
    }
    const auto file = File::open(path.c_str());
    REQUIRE(file.ok());
    char text[3];
    {
      const Fault fault(Site::read_file);
      CHECK(file.value().read(0, text, 3).code() == Code::io);
      CHECK(file.value().read(0, text, 3).ok());
    }
    const Fault fault(Site::read_file, 0, true);
    CHECK(file.value().read(0, text, 3).code() == Code::io);
    CHECK(file.value().read(0, text, 1).native_code() == EIO);
    CHECK(fault.hits() == 2);
  }
}

TEST_SUITE("os") {
  TEST_CASE("check_directory takes directories and links to them, and nothing else") {
    const TempFolder folder;
    folder.write("f", "abc");
    std::filesystem::create_symlink(folder.path(), folder.file("link"));
    CHECK(os::check_directory(folder.path().c_str()).ok());
    CHECK(os::check_directory(folder.file("link").c_str()).ok());
    CHECK(os::check_directory(folder.file("f").c_str()).code() == Code::io);
    CHECK(os::check_directory(folder.file("none").c_str()).code() == Code::not_found);
    CHECK(os::check_directory(folder.file("f/deeper").c_str()).code() == Code::not_found);
    const Fault fault(Site::stat_file);
    CHECK(os::check_directory(folder.path().c_str()).code() == Code::io);
  }

  TEST_CASE("a thread runs its function with every signal blocked, and the starter's mask is as it was") {
    struct Seen {
      int value = 0;
      sigset_t mask;
    } seen;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    std::thread thread;
    const auto look = [](void* argument) {
      auto* out = static_cast<Seen*>(argument);
      out->value = 42;
      pthread_sigmask(SIG_SETMASK, nullptr, &out->mask);
    };
    REQUIRE(os::start_thread(&thread, look, &seen).ok());
    thread.join();
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    CHECK(seen.value == 42);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD}) {
      CHECK(sigismember(&seen.mask, signal) == 1);
      CHECK(sigismember(&after, signal) == sigismember(&before, signal));
    }
  }

  TEST_CASE("a thread that cannot be started is out of memory, and none is left to join") {
    const Fault fault(Site::start_thread);
    std::thread thread;
    const Status status = os::start_thread(&thread, [](void*) {}, nullptr);
    CHECK(status.code() == Code::out_of_memory);
    CHECK(status.native_code() == EAGAIN);
    CHECK_FALSE(thread.joinable());
  }

  TEST_CASE("available memory is what the system says") {
    std::ifstream file("/proc/meminfo");
    std::string word;
    uint64_t kilobytes = 0;
    while (file >> word && word != "MemAvailable:") {
    }
    file >> kilobytes;
    REQUIRE(file.good());
    CHECK(os::available_memory() > kilobytes * 1024 / 2);
    CHECK(os::available_memory() < kilobytes * 1024 * 2);
  }

  TEST_CASE("usable cores are those that the process may run on") {
    cpu_set_t before, one;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    CHECK(os::usable_cores() == static_cast<uint32_t>(CPU_COUNT(&before)));
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const uint32_t cores = os::usable_cores();
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
    CHECK(cores == 1);
  }

  TEST_CASE("time is the monotonic clock's, in nanoseconds") {
    const auto clock = static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
    CHECK(os::now_ns() >= clock);
    CHECK(os::now_ns() - clock < 60'000'000'000);
    const uint64_t start = os::now_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const uint64_t passed = os::now_ns() - start;
    CHECK(passed >= 2'000'000);
    CHECK(passed < 60'000'000'000);
  }

  TEST_CASE("a fault fails the call after its countdown, and no other site") {
    const Fault fault(Site::map_pages, 2);
    CHECK(Pages::map(1).ok());
    CHECK(Pages::map(1).ok());
    CHECK_FALSE(os::fault(Site::read_file));
    CHECK_FALSE(Pages::map(1).ok());
    CHECK(Pages::map(1).ok());
    CHECK(fault.hits() == 1);
  }
}
