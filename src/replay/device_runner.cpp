// SPDX-License-Identifier: BSD-3-Clause
#include "replay/device_runner.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "replay/made_up_data.hpp"

namespace iotrail::replay {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kThreadsMostOnDevice = 256;

Result<void> check_size(const std::string& what, int file, const DevicePlan& plan) {
  std::uint64_t size = 0;
  int block = 0;
  if (::ioctl(file, BLKGETSIZE64, &size) != 0 || ::ioctl(file, BLKSSZGET, &block) != 0)
    return fail_errno(what);
  if (plan.end_bytes > size)
    return fail(what, fmt::format("it has {} bytes, and the requests reach to byte {}", size,
                                  plan.end_bytes));
  if (block > 0 && plan.unit_bytes % static_cast<std::uint64_t>(block) != 0)
    return fail(
        what, fmt::format("its blocks have {} bytes, and requests begin or end within one", block));
  return {};
}

class DeviceRun {
public:
  DeviceRun(const DevicePlan& plan, int file, double speed)
      : plan_(plan), file_(file), speed_(speed) {}

  Result<DeviceOutcome> run() {
    const std::uint64_t wanted =
        std::clamp<std::uint64_t>(plan_.most_in_flight, 1, kThreadsMostOnDevice);
    begin_ = Clock::now();
    std::vector<std::jthread> threads;
    try {
      for (std::uint64_t i = 0; i < wanted; ++i)
        threads.emplace_back([this] { work(); });
    } catch (const std::system_error& refusal) {
      if (threads.empty())
        return fail_errno("cannot start a thread", refusal.code().value());
    }
    threads.clear(); // waits
    outcome_.duration_ns = static_cast<std::uint64_t>((Clock::now() - begin_).count());
    return std::move(outcome_);
  }

private:
  void work() {
    const MadeUpData data;
    std::array<ActionOutcome, kDeviceActions> sums{};
    for (std::size_t i = next_++; i < plan_.requests.size(); i = next_++) {
      const DeviceRequest& request = plan_.requests[i];
      wait_for(request);
      const std::int64_t moved = make(request, data);
      ActionOutcome& sum = sums[static_cast<std::size_t>(request.action)];
      ++sum.requests;
      sum.bytes += moved > 0 ? static_cast<std::uint64_t>(moved) : 0;
      if (moved != request.bytes) {
        ++sum.failed;
        note(request, moved);
      }
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < kDeviceActions; ++i) {
      outcome_.actions[i].requests += sums[i].requests;
      outcome_.actions[i].failed += sums[i].failed;
      outcome_.actions[i].bytes += sums[i].bytes;
    }
  }

  void wait_for(const DeviceRequest& request) const {
    constexpr double kLongestNs = 1e17; // a forged trace may have any time
    if (speed_ <= 0)
      return;
    const double ns = std::min(static_cast<double>(request.begin_ns) / speed_, kLongestNs);
    std::this_thread::sleep_until(begin_ + std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
  }

  // Bytes moved, or a negative errno.
  std::int64_t make(const DeviceRequest& request, const MadeUpData& data) const {
    std::uint64_t range[2] = {request.position, request.bytes};
    const auto result_of = [&](int failed) -> std::int64_t {
      return failed != 0 ? -errno : static_cast<std::int64_t>(request.bytes);
    };
    switch (request.action) {
    case DeviceAction::read:
      return data.read(file_, request.position, request.bytes);
    case DeviceAction::write: {
      const std::int64_t moved = data.write(file_, request.position, request.bytes);
      return moved >= 0 && request.is_durable && ::fdatasync(file_) != 0 ? -errno : moved;
    }
    case DeviceAction::flush:
      return result_of(::fdatasync(file_));
    case DeviceAction::discard:
      return result_of(::ioctl(file_, BLKDISCARD, range));
    case DeviceAction::write_zeroes:
      return result_of(::ioctl(file_, BLKZEROOUT, range));
    }
    return -EINVAL;
  }

  void note(const DeviceRequest& request, std::int64_t moved) {
    const std::lock_guard lock(mutex_);
    if (outcome_.failures.size() < DeviceOutcome::kNamedMost)
      outcome_.failures.push_back(fmt::format(
          "{} of {} bytes at {}: {}", action_name(request.action), request.bytes, request.position,
          moved < 0 ? errno_text(static_cast<int>(-moved)) : fmt::format("only {} bytes", moved)));
  }

  const DevicePlan& plan_;
  int file_;
  double speed_;
  Clock::time_point begin_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  DeviceOutcome outcome_;
};

} // namespace

Result<TargetDevice> TargetDevice::open(const std::filesystem::path& path, const DevicePlan& plan,
                                        bool may_overwrite) {
  const std::string what = fmt::format("cannot replay on {}", path.native());
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0)
    return fail_errno(what);
  if (!S_ISBLK(facts.st_mode))
    return fail_usage(what, "it is no block device",
                      "--into replays calls on files below a directory.");
  if (plan.changes_data && !may_overwrite)
    return fail_usage(what, "the recording writes, and the device would lose its data",
                      "--overwrite says that it may.");
  const int mode = plan.changes_data ? O_RDWR : O_RDONLY;
  // O_EXCL: fails if the device or a part of it is mounted, used for swap or by another device.
  Fd file(::open(path.c_str(), mode | O_EXCL | O_DIRECT | O_CLOEXEC));
  if (!file)
    return errno == EBUSY ? fail(what, "it is mounted or else in use",
                                 "`lsblk` shows by what; unmount it first.")
                          : fail_errno(what);
  if (auto checked = check_size(what, file.get(), plan); !checked)
    return std::unexpected(checked.error());
  return TargetDevice(std::move(file));
}

std::uint64_t DeviceOutcome::failed() const {
  std::uint64_t sum = 0;
  for (const ActionOutcome& action : actions)
    sum += action.failed;
  return sum;
}

Result<DeviceOutcome> run_on_device(const DevicePlan& plan, const TargetDevice& device,
                                    double speed) {
  return DeviceRun(plan, device.file(), speed).run();
}

} // namespace iotrail::replay
