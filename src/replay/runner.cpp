// SPDX-License-Identifier: BSD-3-Clause
#include "replay/runner.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/open_files.hpp"
#include "replay/made_up_data.hpp"
#include "replay/open_handles.hpp"
#include "replay/order.hpp"
#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::replay {
namespace {

class Runner {
public:
  Runner(const Plan& plan, const Place& place, double speed)
      : plan_(plan), place_(place), speed_(speed), order_(plan), handles_(plan, place) {}

  Result<Outcome> run() {
    Workers workers = share_out(plan_);
    if (workers.actions.size() > kThreadsMost)
      return fail("cannot replay the trace",
                  fmt::format("it has {} calls at a time, and a replay at most {}",
                              workers.actions.size(), kThreadsMost));
    raise_open_files();
    begin_ns_ = monotonic_ns();
    {
      std::vector<std::jthread> threads;
      threads.reserve(workers.actions.size());
      for (const auto& actions : workers.actions)
        threads.emplace_back([this, &actions] { work(actions); });
    }
    outcome_.duration_ns = monotonic_ns() - begin_ns_;
    outcome_.threads = workers.threads;
    for (const Action& action : plan_.actions)
      outcome_.recorded_ns = std::max(outcome_.recorded_ns, action.end_ns);
    return std::move(outcome_);
  }

private:
  void work(const std::vector<std::uint32_t>& actions) {
    const MadeUpData data;
    Outcome own;
    const Action* before = nullptr;
    for (const std::uint32_t i : actions) {
      const Action& action = plan_.actions[i];
      wait_before(action, before);
      order_.wait_for_turn(i);
      const std::int64_t result = make(action, data);
      order_.end(i);
      handles_.end_use(action);
      count(own, action, result);
      before = &action;
    }
    add(own);
  }

  // A call of the same thread follows after a time; the first one of a thread has its own time.
  void wait_before(const Action& action, const Action* before) const {
    if (speed_ == 0)
      return;
    const bool follows = before != nullptr && before->tid == action.tid;
    const std::uint64_t from_ns = follows ? std::min(before->end_ns, action.begin_ns) : 0;
    const auto pause_ns =
        static_cast<std::uint64_t>(static_cast<double>(action.begin_ns - from_ns) / speed_);
    const std::uint64_t since_ns = follows ? monotonic_ns() : begin_ns_;
    if (const std::uint64_t now_ns = monotonic_ns(); since_ns + pause_ns > now_ns)
      std::this_thread::sleep_for(std::chrono::nanoseconds(since_ns + pause_ns - now_ns));
  }

  std::int64_t make(const Action& action, const MadeUpData& data) {
    const std::string& path = plan_.paths[action.path];
    switch (action.kind) {
    case Kind::open:
      return handles_.open(action);
    case Kind::close:
      handles_.close(action);
      return 0;
    case Kind::look_up:
      return place_.look_up(path);
    case Kind::unlink:
      return place_.unlink(path);
    case Kind::rename:
      return place_.rename(path, plan_.paths[action.to_path], action.error != -EEXIST);
    case Kind::link:
      return place_.link(path, plan_.paths[action.to_path]);
    case Kind::make_directory:
      return place_.make_directory(path);
    default:
      return make_on_file(action, data);
    }
  }

  std::int64_t make_on_file(const Action& action, const MadeUpData& data) {
    int error = 0;
    const bool is_sync = action.kind == Kind::sync || action.kind == Kind::datasync;
    const Access access = is_sync                     ? Access::any
                          : action.kind == Kind::read ? Access::reads
                                                      : Access::writes;
    // A call by the path has no key.
    const SharedFd shared =
        action.file == 0 ? opened(action, error) : handles_.handle(action, access, error);
    if (!shared)
      return error;
    const int file = shared->get();
    const auto done = [](int returned) { return returned == 0 ? 0 : -errno; };
    switch (action.kind) {
    case Kind::read:
      return data.read(file, action.position, action.bytes);
    case Kind::write:
      return data.write(file, action.position, action.bytes);
    case Kind::sync:
      return done(::fsync(file));
    case Kind::datasync:
      return done(::fdatasync(file));
    case Kind::truncate:
      return done(::ftruncate(file, static_cast<off_t>(action.bytes)));
    default:
      return done(::fallocate(file, static_cast<int>(action.flags),
                              static_cast<off_t>(action.position),
                              static_cast<off_t>(action.bytes)));
    }
  }

  SharedFd opened(const Action& action, int& error) const {
    const int fd = place_.open_file(plan_.paths[action.path], O_RDWR);
    error = fd;
    return fd < 0 ? nullptr : std::make_shared<const Fd>(fd);
  }

  static bool moves_bytes(const Action& action) {
    return action.kind == Kind::read || action.kind == Kind::write;
  }

  void count(Outcome& own, const Action& action, std::int64_t result) {
    KindOutcome& kind = own.kinds[static_cast<std::size_t>(action.kind)];
    const bool moves = moves_bytes(action) && action.error == 0;
    const bool agrees = action.error != 0 ? result == action.error
                        : moves           ? result == static_cast<std::int64_t>(action.bytes)
                                          : result >= 0;
    ++kind.calls;
    kind.agreed += agrees ? 1 : 0;
    if (moves)
      kind.recorded_bytes += action.bytes;
    if (moves && result > 0)
      kind.moved_bytes += static_cast<std::uint64_t>(result);
    if (!agrees && own.differences.size() < Outcome::kNamedMost)
      own.differences.push_back(difference(action, result));
  }

  std::string difference(const Action& action, std::int64_t result) const {
    const auto text = [&](std::int64_t value) {
      if (value < 0)
        return errno_text(static_cast<int>(-value));
      return moves_bytes(action) ? output::human_bytes(static_cast<std::uint64_t>(value))
                                 : std::string("success");
    };
    const std::int64_t recorded =
        action.error != 0 ? action.error : static_cast<std::int64_t>(action.bytes);
    return fmt::format("{} of /{} at {}: recorded {}, replayed {}", kind_name(action.kind),
                       output::printable(plan_.paths[action.path]),
                       output::human_duration(action.begin_ns), text(recorded), text(result));
  }

  void add(const Outcome& own) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < kKinds; ++i) {
      outcome_.kinds[i].calls += own.kinds[i].calls;
      outcome_.kinds[i].agreed += own.kinds[i].agreed;
      outcome_.kinds[i].recorded_bytes += own.kinds[i].recorded_bytes;
      outcome_.kinds[i].moved_bytes += own.kinds[i].moved_bytes;
    }
    for (const std::string& text : own.differences)
      if (outcome_.differences.size() < Outcome::kNamedMost)
        outcome_.differences.push_back(text);
  }

  const Plan& plan_;
  const Place& place_;
  const double speed_;
  std::uint64_t begin_ns_ = 0;
  EndOrder order_;
  OpenHandles handles_;
  std::mutex mutex_; // guards the outcome
  Outcome outcome_;
};

} // namespace

std::uint64_t Outcome::calls() const {
  std::uint64_t sum = 0;
  for (const KindOutcome& kind : kinds)
    sum += kind.calls;
  return sum;
}

std::uint64_t Outcome::differed() const {
  std::uint64_t sum = calls();
  for (const KindOutcome& kind : kinds)
    sum -= kind.agreed;
  return sum;
}

Result<Outcome> run(const Plan& plan, const Place& place, double speed) {
  return Runner(plan, place, speed).run();
}

} // namespace iotrail::replay
