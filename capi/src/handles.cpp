#include "capi/src/handles.h"

#include <algorithm>

namespace tdl::abi {

namespace {

Status foreign() { return fail(Code::state, "the engine belongs to the process that this one was forked from"); }

}  // namespace

Result<Engine*> EngineShell::enter() {
  if (!ours()) return foreign();
  const std::lock_guard lock(mutex_);
  if (!engine_ || closing_) return fail(Code::state, "the engine was destroyed");
  if (inside_ && owner_ == std::this_thread::get_id()) return fail(Code::state, "a call on the engine from within one of its callbacks");
  if (inside_) return fail(Code::busy, "another thread is inside a call on this engine");
  inside_ = true;
  owner_ = std::this_thread::get_id();
  return engine_.get();
}

void EngineShell::leave() noexcept {
  std::shared_ptr<Engine> engine;
  Passes gone;  // destroyed before the engine
  const std::lock_guard lock(mutex_);
  if (closing_) {
    gone.swap(passes_);
    engine.swap(engine_);
  } else if (any_ended_) {
    std::erase_if(passes_, [](const auto& entry) { return entry->ended; });
  }
  inside_ = any_ended_ = false;
  owner_ = {};
}

Result<std::shared_ptr<Engine>> EngineShell::share() {
  if (!ours()) return foreign();
  const std::lock_guard lock(mutex_);
  if (!engine_ || closing_) return fail(Code::state, "the engine was destroyed");
  if (inside_ && owner_ == std::this_thread::get_id()) return fail(Code::state, "a call on the engine from within one of its callbacks");
  return engine_;
}

void EngineShell::close() noexcept {
  std::shared_ptr<Engine> engine;
  Passes gone;
  const std::lock_guard lock(mutex_);
  if (engine_) engine_->cancel();  // nobody can ask for what is in flight
  if (inside_) {
    closing_ = true;
    return;
  }
  gone.swap(passes_);
  engine.swap(engine_);
}

Result<PassEntry*> EngineShell::add(std::unique_ptr<Pass> pass) {
  auto entry = std::make_unique<PassEntry>();
  entry->pass = std::move(pass);
  PassEntry* const raw = entry.get();
  const std::lock_guard lock(mutex_);
  passes_.push_back(std::move(entry));
  return raw;
}

void EngineShell::end(PassEntry* entry) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(passes_.begin(), passes_.end(), [entry](const auto& other) { return other.get() == entry; });
  if (found == passes_.end()) return;  // it went with the engine
  if (inside_) {
    entry->ended = any_ended_ = true;
    return;
  }
  passes_.erase(found);  // with the mutex: nobody goes inside, or destroys the engine, while the pass lets go of it
}

void EngineShell::cancel() noexcept {
  if (!ours()) return;
  const std::lock_guard lock(mutex_);
  if (engine_ && !closing_) engine_->cancel();
}

Result<Call> Call::enter(std::shared_ptr<EngineShell> shell) {
  TDL_ASSIGN(Engine* const engine, shell->enter());
  return Call(std::move(shell), engine);
}

}  // namespace tdl::abi
