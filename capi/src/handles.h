// Handles and the rule of one thread at a time.  A handle is a small shell; what is heavy goes when the engine is destroyed, however
// many children still hold the shell.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/core/os.h"
#include "kernels/core/status.h"
#include "runtime/engine.h"
#include "runtime/load/source.h"
#include "runtime/pass.h"

namespace tdl::abi {

enum class Kind : uint32_t { source = 0x54444C53, engine = 0x54444C45, pass = 0x54444C50 };

// A pass as its engine's shell owns it, so that it can go with the engine or when its thread next leaves.
struct PassEntry {
  std::unique_ptr<Pass> pass;
  bool ended = false;  // tdl_pass_end came while a thread was inside the engine
};

class EngineShell {
 public:
  explicit EngineShell(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  // False in a forked child: it has none of the engine's threads, and a lock may be held for good.  There every call is a state failure, and
  // destroying leaves everything as it is.
  bool ours() const noexcept { return os::process_id() == process_; }

  // The calling thread goes inside: state when the engine is gone or the thread is inside already (a callback), busy when another is.
  Result<Engine*> enter();
  void leave() noexcept;
  // For what any thread may do: the engine, kept alive; state when it is gone or the call comes from a callback.
  Result<std::shared_ptr<Engine>> share();
  // Whatever thread calls: the engine goes now, or when the thread inside it leaves.
  void close() noexcept;

  // Inside only.
  Result<PassEntry*> add(std::unique_ptr<Pass> pass);
  // Any thread.
  void end(PassEntry* entry) noexcept;
  void cancel() noexcept;

 private:
  using Passes = std::vector<std::unique_ptr<PassEntry>>;

  const uint64_t process_ = os::process_id();
  std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
  Passes passes_;
  bool inside_ = false, closing_ = false, any_ended_ = false;
  std::thread::id owner_;
};

// One call of one thread inside an engine.
class Call {
 public:
  static Result<Call> enter(std::shared_ptr<EngineShell> shell);
  Call(Call&& other) noexcept : shell_(std::move(other.shell_)), engine_(other.engine_) {}
  Call& operator=(Call&&) = delete;
  ~Call() {
    if (shell_) shell_->leave();
  }
  Engine& engine() { return *engine_; }

 private:
  Call(std::shared_ptr<EngineShell> shell, Engine* engine) : shell_(std::move(shell)), engine_(engine) {}
  std::shared_ptr<EngineShell> shell_;
  Engine* engine_;
};

template <class Handle>
Status check_handle(const Handle* handle, const char* name) {
  if (!handle) return fail(Code::invalid_argument, "%s is null", name);
  if (handle->kind != Handle::kKind) return fail(Code::invalid_argument, "%s is no %s", name, name);
  return {};
}

}  // namespace tdl::abi

struct tdl_source {
  static constexpr tdl::abi::Kind kKind = tdl::abi::Kind::source;
  tdl::abi::Kind kind = kKind;
  tdl::Source source;
};

struct tdl_engine {
  static constexpr tdl::abi::Kind kKind = tdl::abi::Kind::engine;
  tdl::abi::Kind kind = kKind;
  std::shared_ptr<tdl::abi::EngineShell> shell;
};

struct tdl_pass {
  static constexpr tdl::abi::Kind kKind = tdl::abi::Kind::pass;
  tdl::abi::Kind kind = kKind;
  std::shared_ptr<tdl::abi::EngineShell> shell;
  tdl::abi::PassEntry* entry = nullptr;  // the shell's; not touched once the engine is gone
};
