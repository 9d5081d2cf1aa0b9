// SPDX-License-Identifier: BSD-3-Clause
#ifdef IOTRAIL_HAS_OTF2
#include "export/otf2/otf2_handles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

constexpr std::string_view kLivesSql = R"(
SELECT pid, what, ts_ns, end_ns, fd, result, first_fd, last_fd, read_fd, write_fd,
path_at(TRY_CAST(file AS UINTEGER), end_ns), file FROM (SELECT * REPLACE (CASE WHEN
starts_with(call, 'accept') THEN 0 ELSE file END AS file) FROM ({}))
WHERE is_asked(layer) AND result >= 0 AND what IN ('open', 'duplicate', 'close', 'close_range',
'pipe') AND NOT (what = 'close_range' AND coalesce(flags, 0) & 4 <> 0)
AND NOT (what = 'duplicate' AND fd = result) ORDER BY ts_ns, op_id)";

std::string fd_name(std::int64_t fd) {
  return fd < 0 ? std::string() : fmt::format("fd {}", fd);
}

} // namespace

Result<void> Otf2Handles::load(const TraceInput& input, std::string_view details_sql) {
  std::string nothing;
  const Sink none(nothing); // the library writes the files
  return for_each_row(
      input.engine, fmt::format(kLivesSql, details_sql), none, [&](const TraceRow& row) {
        const std::uint64_t pid = row.number(0);
        const std::string_view what = row.text(1);
        Life life{.open_ns = row.number(2), .from_ns = row.number(3), .file = row.number(11)};
        if (!row.text(10).empty())
          life.named = archive_.file(printable(row.text(10)));
        if (what == "open" || what == "duplicate")
          add_open(pid, row.signed_number(5), life);
        else if (what == "close")
          add_close(pid, row.signed_number(4), life);
        else if (what == "close_range")
          add_close_range(pid, row.number(6), row.number(7), life.open_ns);
        else
          for (const std::size_t column : {8U, 9U})
            add_open(pid, row.signed_number(column), life);
      });
}

void Otf2Handles::add_open(std::uint64_t pid, std::int64_t fd, const Life& life) {
  std::vector<Life>& lives = lives_[{pid, fd}];
  if (!lives.empty() && lives.back().until_ns == UINT64_MAX) // its end was not seen
    lives.back().until_ns = life.open_ns;
  lives.push_back(life);
}

void Otf2Handles::add_close(std::uint64_t pid, std::int64_t fd, const Life& life) {
  const std::uint64_t ts_ns = life.open_ns;
  std::vector<Life>& lives = lives_[{pid, fd}];
  if (!lives.empty() && lives.back().until_ns == UINT64_MAX && lives.back().open_ns < ts_ns)
    lives.back().until_ns = ts_ns;
  else if (lives.empty())
    lives.push_back(
        {.until_ns = ts_ns, .is_created = false, .file = life.file, .named = life.named});
}

void Otf2Handles::add_close_range(std::uint64_t pid, std::uint64_t first, std::uint64_t last,
                                  std::uint64_t ts_ns) {
  for (auto it = lives_.lower_bound({pid, static_cast<std::int64_t>(first)});
       it != lives_.end() && it->first.first == pid &&
       static_cast<std::uint64_t>(it->first.second) <= last;
       ++it)
    if (!it->second.empty() && it->second.back().until_ns == UINT64_MAX)
      it->second.back().until_ns = ts_ns;
}

OTF2_IoHandleRef Otf2Handles::defined(Life& life, std::int64_t fd, const std::string& path) {
  if (!life.handle)
    life.handle = archive_.handle(life.named ? *life.named : archive_.file(path), false,
                                  life.is_created, fd_name(fd));
  return *life.handle;
}

std::optional<Otf2Handles::Opened> Otf2Handles::opened(const Otf2Descriptor& descriptor,
                                                       std::uint64_t ts_ns,
                                                       const std::string& path) {
  const auto found = lives_.find(descriptor.key());
  if (found == lives_.end())
    return {};
  auto& lives = found->second;
  const auto life = std::ranges::lower_bound(lives, ts_ns, {}, &Life::open_ns);
  if (life == lives.end() || life->open_ns != ts_ns || !life->is_created)
    return {};
  Opened opened{.handle = defined(*life, descriptor.fd, path), .replaced = {}};
  if (life != lives.begin() && std::prev(life)->until_ns == ts_ns)
    opened.replaced = defined(*std::prev(life), descriptor.fd, path);
  return opened;
}

std::optional<OTF2_IoHandleRef> Otf2Handles::closed(const Otf2Descriptor& descriptor,
                                                    std::uint64_t ts_ns, const std::string& path) {
  const auto found = lives_.find(descriptor.key());
  if (found == lives_.end())
    return {};
  const auto life = std::ranges::lower_bound(found->second, ts_ns, {}, &Life::until_ns);
  if (life == found->second.end() || life->until_ns != ts_ns)
    return {};
  return defined(*life, descriptor.fd, path);
}

std::vector<OTF2_IoHandleRef> Otf2Handles::closed_range(std::uint64_t pid, std::uint64_t first,
                                                        std::uint64_t last, std::uint64_t ts_ns) {
  std::vector<OTF2_IoHandleRef> closed;
  for (auto it = lives_.lower_bound({pid, static_cast<std::int64_t>(first)});
       it != lives_.end() && it->first.first == pid &&
       static_cast<std::uint64_t>(it->first.second) <= last;
       ++it) {
    const auto life = std::ranges::lower_bound(it->second, ts_ns, {}, &Life::until_ns);
    if (life != it->second.end() && life->until_ns == ts_ns)
      closed.push_back(defined(*life, it->first.second, fd_name(it->first.second)));
  }
  return closed;
}

OTF2_IoHandleRef Otf2Handles::used(const Otf2Descriptor& descriptor, std::uint64_t ts_ns,
                                   const std::string& path) {
  if (const auto found = lives_.find(descriptor.key()); found != lives_.end()) {
    auto after = std::ranges::upper_bound(found->second, ts_ns, {}, &Life::from_ns);
    if (after != found->second.begin() && (--after)->until_ns > ts_ns &&
        (after->file == descriptor.file || after->file == 0 || descriptor.file == 0))
      return defined(*after, descriptor.fd, path);
  }
  Life& always = always_[{descriptor.pid, descriptor.fd, descriptor.file}];
  always.is_created = false;
  return defined(always, descriptor.fd, path);
}

OTF2_IoHandleRef Otf2Handles::of_device(std::uint64_t device, const std::string& name) {
  const auto known = devices_.find(device);
  if (known != devices_.end())
    return known->second;
  return devices_[device] = archive_.handle(archive_.file("/dev/" + name), true, false);
}

} // namespace iotrail::output
#endif
