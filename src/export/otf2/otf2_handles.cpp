// SPDX-License-Identifier: BSD-3-Clause
#ifdef IOTRAIL_HAS_OTF2
#include "export/otf2/otf2_handles.hpp"

#include <algorithm>

#include "export/trace_rows.hpp"

namespace iotrail::output {
namespace {

constexpr std::string_view kLivesSql = R"(
SELECT pid, file, opens(class) AS is_open, ts_ns, plus(ts_ns, duration_ns) FROM operations
WHERE is_asked(layer) AND (opens(class) OR closes(class)) AND error = 0 AND file <> 0
ORDER BY pid, file, ts_ns)";

} // namespace

Result<void> Otf2Handles::load(const TraceInput& input) {
  std::string nothing;
  const Sink none(nothing); // the library writes the files
  return for_each_row(input.engine, kLivesSql, none, [&](const TraceRow& row) {
    add({row.number(0), row.number(1)}, row.is_true(2), row.number(3), row.number(4));
  });
}

void Otf2Handles::add(const Owner& owner, bool is_open, std::uint64_t ts_ns, std::uint64_t end_ns) {
  Lives& lives = lives_[owner];
  if (is_open)
    lives.all.push_back({.open_ns = ts_ns, .from_ns = end_ns, .handle = {}});
  else if (lives.closed < lives.all.size() && lives.all[lives.closed].from_ns <= ts_ns)
    lives.all[lives.closed++].close_ns = ts_ns;
}

OTF2_IoHandleRef Otf2Handles::defined(std::optional<OTF2_IoHandleRef>& handle,
                                      const std::string& path, bool is_created) {
  if (!handle)
    handle = archive_.handle(archive_.file(path), false, is_created);
  return *handle;
}

std::optional<OTF2_IoHandleRef> Otf2Handles::opened(std::uint64_t pid, std::uint64_t file,
                                                    std::uint64_t ts_ns, const std::string& path) {
  const auto owner = lives_.find({pid, file});
  if (owner == lives_.end())
    return {};
  const auto life = std::ranges::lower_bound(owner->second.all, ts_ns, {}, &Life::open_ns);
  if (life == owner->second.all.end() || life->open_ns != ts_ns)
    return {};
  return defined(life->handle, path, true);
}

std::optional<OTF2_IoHandleRef> Otf2Handles::closed(std::uint64_t pid, std::uint64_t file,
                                                    std::uint64_t ts_ns, const std::string& path) {
  const auto owner = lives_.find({pid, file});
  if (owner == lives_.end())
    return {};
  // Closes end the oldest first, so that their times are in order too.
  const auto life = std::ranges::lower_bound(owner->second.all, ts_ns, {}, &Life::close_ns);
  if (life == owner->second.all.end() || life->close_ns != ts_ns)
    return {};
  return defined(life->handle, path, true);
}

OTF2_IoHandleRef Otf2Handles::used(std::uint64_t pid, std::uint64_t file, std::uint64_t ts_ns,
                                   const std::string& path) {
  const Owner key{pid, file};
  if (const auto owner = lives_.find(key); owner != lives_.end()) {
    auto after = std::ranges::upper_bound(owner->second.all, ts_ns, {}, &Life::from_ns);
    if (after != owner->second.all.begin() && (--after)->close_ns > ts_ns)
      return defined(after->handle, path, true);
  }
  return defined(always_[key], path, false);
}

OTF2_IoHandleRef Otf2Handles::of_device(std::uint64_t device, const std::string& name) {
  const auto known = devices_.find(device);
  if (known != devices_.end())
    return known->second;
  return devices_[device] = archive_.handle(archive_.file("/dev/" + name), true, false);
}

} // namespace iotrail::output
#endif
