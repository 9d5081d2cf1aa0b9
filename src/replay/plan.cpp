// SPDX-License-Identifier: BSD-3-Clause
#include "replay/plan.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "export/trace_rows.hpp"

namespace iotrail::replay {
namespace {

using output::TraceRow;

// One row per call: those on files, then those that name paths. One row per thread and time of each
// call with more arguments: in a forged trace, many may share them.
constexpr std::string_view kSql = R"(
WITH
  opens AS (
    SELECT tid, ts_ns, min(CAST(flags AS UBIGINT)) AS flags
    FROM (SELECT tid, ts_ns, flags FROM syscall_open UNION ALL SELECT tid, ts_ns, flags FROM app_open) GROUP BY ALL
  ),
  lengths AS (
    SELECT tid, ts_ns, min(position) AS position, min(bytes) AS bytes, min(mode) AS mode
    FROM (SELECT tid, ts_ns, position, bytes, CAST(mode AS UBIGINT) AS mode FROM syscall_truncate
          UNION ALL SELECT tid, ts_ns, position, bytes, 0 AS mode FROM app_truncate) GROUP BY ALL
  ),
  targets AS (
    SELECT l.pid AS pid, l.ts_ns AS ts_ns, min(path_in(place_of(d.directory_file, d.directory, l.ts_ns), s.text)) AS target
    FROM (SELECT pid, ts_ns, target, CASE target_fd WHEN -1 THEN at_fdcwd() ELSE target_fd END AS fd FROM syscall_link WHERE call IN ('link', 'linkat')) AS l
      ASOF LEFT JOIN directories AS d ON l.pid = d.pid AND l.fd = d.fd AND l.ts_ns >= d.since_ns
      LEFT JOIN strings AS s ON l.target = s.string
    GROUP BY ALL
  ),
  threads AS (
    SELECT pid, ts_ns, class, min(tid) AS tid FROM events
    WHERE path <> 0 AND file = 0 AND is_asked(layer) AND duration_ns IS NOT NULL GROUP BY ALL
  ),
  calls AS (
    SELECT t.ts_ns AS ts_ns, t.until_ns AS until_ns, t.pid AS pid, t.tid AS tid, t.class AS class, t.call AS call, t.file AS file,
           coalesce(nullif(path_at(t.file, t.ts_ns), ''), t.path) AS path, NULL AS to_path, t.position AS position, t.bytes AS bytes, t.error AS error,
           f.mode AS mode
    FROM file_transfers AS t LEFT JOIN files AS f ON t.file = f.file WHERE t.file <> 0
    UNION ALL
    SELECT p.ts_ns AS ts_ns, plus(p.ts_ns, p.duration_ns) AS until_ns, p.pid AS pid, t.tid AS tid, p.class AS class, p.call AS call, 0 AS file,
           p.path AS path, coalesce(l.target, p.to_path) AS to_path, NULL AS position, p.bytes AS bytes, p.error AS error, 0 AS mode
    FROM path_calls AS p
      JOIN threads AS t ON p.pid = t.pid AND p.ts_ns = t.ts_ns AND p.class = t.class
      LEFT JOIN targets AS l ON p.pid = l.pid AND p.ts_ns = l.ts_ns
  )
SELECT c.ts_ns, c.until_ns, c.pid, c.tid, c.class, coalesce(c.call, ''), c.file, coalesce(c.path, ''), coalesce(c.to_path, ''),
       c.position, c.bytes, c.error, c.mode, o.flags, l.position, l.bytes, l.mode
FROM calls AS c
  LEFT JOIN opens AS o ON opens(c.class) AND c.tid = o.tid AND c.ts_ns = o.ts_ns
  LEFT JOIN lengths AS l ON (sets_length(c.class) OR makes_holes(c.class)) AND c.tid = l.tid AND c.ts_ns = l.ts_ns
ORDER BY c.ts_ns, c.until_ns DESC, c.tid)";
enum Column : std::uint8_t {
  kBegin,
  kEnd,
  kPid,
  kTid,
  kClass,
  kCall,
  kFile,
  kPath,
  kToPath,
  kPosition,
  kBytes,
  kErrorNumber,
  kMode,
  kFlags,
  kLengthPosition,
  kLengthBytes,
  kLengthMode
};

constexpr std::uint64_t kBytesMost = 0x7ffff000; // that one call moves
constexpr std::uint64_t kPositionMost = INT64_MAX - kBytesMost;
constexpr auto kKernelDirectories = std::to_array<std::string_view>({"proc/", "sys/", "dev/"});

struct KindOfClass {
  std::string_view name;
  Kind kind;
};
constexpr auto kKindsOfClasses = std::to_array<KindOfClass>({{"open", Kind::open},
                                                             {"close", Kind::close},
                                                             {"read", Kind::read},
                                                             {"write", Kind::write},
                                                             {"fsync", Kind::sync},
                                                             {"fdatasync", Kind::datasync},
                                                             {"truncate", Kind::truncate},
                                                             {"fallocate", Kind::allocate},
                                                             {"stat", Kind::look_up},
                                                             {"access", Kind::look_up},
                                                             {"unlink", Kind::unlink},
                                                             {"rename", Kind::rename},
                                                             {"link", Kind::link},
                                                             {"mkdir", Kind::make_directory}});

// fsync and fdatasync of the C library are one class, with fflush.
std::optional<Kind> kind_of(std::string_view class_name, std::string_view call) {
  if (class_name == "sync" && call == "fsync")
    return Kind::sync;
  if (class_name == "sync" && call == "fdatasync")
    return Kind::datasync;
  if (class_name == "truncate" && call.find("fallocate") != std::string_view::npos)
    return Kind::allocate;
  const auto* found = std::ranges::find(kKindsOfClasses, class_name, &KindOfClass::name);
  return found == kKindsOfClasses.end() ? std::nullopt : std::optional(found->kind);
}

class PlanReader {
public:
  explicit PlanReader(Plan& plan) : plan_(plan) {}

  void add(const TraceRow& row) {
    std::string why = problem_of(row);
    if (why.empty() && is_symbolic_link(row))
      why = "calls on symbolic links that are left out";
    if (!why.empty()) {
      ++plan_.left_out[why];
      return;
    }
    Action action = action_;
    action.path = path(row.text(kPath));
    if ((action.flags & O_TMPFILE & ~O_DIRECTORY) != 0 && action.kind == Kind::open)
      action.path = path(parent_of(row.text(kPath)));
    if (action.kind == Kind::rename || action.kind == Kind::link)
      action.to_path = path(row.text(kToPath));
    if (action.kind == Kind::link)
      std::swap(action.path, action.to_path); // the call's path is the new name
    plan_.actions.push_back(action);
  }

private:
  // Links are not made again, so what is done to them cannot be either.
  bool is_symbolic_link(const TraceRow& row) const {
    return symbolic_links_.contains(path_below_root(row.text(kPath)));
  }

  // Sets `action_`, but for its paths. "": it can be made again.
  std::string problem_of(const TraceRow& row) {
    const std::string_view class_name = row.text(kClass);
    const auto kind = kind_of(class_name, row.text(kCall));
    if (class_name == "symlink")
      symbolic_links_.insert(path_below_root(row.text(kPath)));
    if (!kind)
      return fmt::format("{} calls", class_name);
    action_ = {.begin_ns = row.number(kBegin),
               .end_ns = std::max(row.number(kBegin), row.number(kEnd)),
               .position = row.number(kPosition),
               .bytes = row.number(kBytes),
               .pid = static_cast<std::uint32_t>(row.number(kPid)),
               .tid = static_cast<std::uint32_t>(row.number(kTid)),
               .file = static_cast<std::uint32_t>(row.number(kFile)),
               .flags = static_cast<std::uint32_t>(row.number(kFlags)),
               .error = static_cast<std::int32_t>(row.signed_number(kErrorNumber)),
               .kind = *kind,
               .is_directory = S_ISDIR(row.number(kMode))};
    if (row.number(kMode) != 0 && !S_ISREG(row.number(kMode)) && !action_.is_directory)
      return "calls on files that are no regular ones";
    if (action_.error != 0 && action_.error != -ENOENT && action_.error != -EEXIST)
      return "failed calls, other than of missing and existing files";
    if (!row.text(kPath).starts_with('/'))
      return "calls on files with an unknown path";
    if (is_of_kernel(row.text(kPath)))
      return "calls on files of the kernel";
    if (!is_possible(row.text(kPath)) || !is_possible(row.text(kToPath)))
      return "calls on files with an impossible name";
    return problem_of_range(row);
  }

  std::string problem_of_range(const TraceRow& row) {
    const bool moves = action_.kind == Kind::read || action_.kind == Kind::write;
    const bool has_length = action_.kind == Kind::truncate || action_.kind == Kind::allocate;
    if ((moves && row.is_null(kPosition) && action_.bytes > 0) ||
        (has_length && row.is_null(kLengthBytes)))
      return fmt::format("{} calls with an unknown position", row.text(kClass));
    if ((action_.kind == Kind::rename || action_.kind == Kind::link) &&
        !row.text(kToPath).starts_with('/'))
      return "calls on files with an unknown path";
    if (has_length) {
      action_.position = row.number(kLengthPosition);
      action_.bytes = row.number(kLengthBytes);
      action_.flags = static_cast<std::uint32_t>(row.number(kLengthMode));
    }
    if (action_.position > kPositionMost || action_.bytes > (moves ? kBytesMost : kPositionMost))
      return "calls with impossible sizes";
    return {};
  }

  // As file systems take them, below a directory with a path of its own.
  static bool is_possible(std::string_view path) {
    constexpr std::size_t kNameMost = 255;
    constexpr std::size_t kPathMost = 3000;
    constexpr std::size_t kPartsMost = 500;
    std::size_t parts = 0;
    for (std::size_t begin = 0; begin < path.size(); ++parts) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      if (end - begin > kNameMost)
        return false;
      begin = end + 1;
    }
    return path.size() <= kPathMost && parts <= kPartsMost && path.find('\0') == path.npos;
  }

  // A file without a name is opened by its directory.
  static std::string_view parent_of(std::string_view path) {
    return path.substr(0, path.rfind('/'));
  }

  static bool is_of_kernel(std::string_view path) {
    return std::ranges::any_of(kKernelDirectories, [&](std::string_view directory) {
      return path.substr(1).starts_with(directory);
    });
  }

  std::uint32_t path(std::string_view absolute) {
    std::string below = path_below_root(absolute);
    const auto [found, is_new] =
        paths_.try_emplace(below, static_cast<std::uint32_t>(plan_.paths.size()));
    if (is_new)
      plan_.paths.push_back(std::move(below));
    return found->second;
  }

  Plan& plan_;
  Action action_;
  std::unordered_map<std::string, std::uint32_t> paths_;
  std::unordered_set<std::string> symbolic_links_;
};

} // namespace

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"open",      "close",    "read",      "write", "fsync",
                                         "fdatasync", "truncate", "fallocate", "stat",  "unlink",
                                         "rename",    "link",     "mkdir"};
  static_assert(std::size(kNames) == kKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string path_below_root(std::string_view absolute) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (absolute.ends_with(kDeleted))
    absolute.remove_suffix(kDeleted.size());
  std::string below;
  for (std::size_t begin = 0; begin < absolute.size();) {
    const std::size_t end = std::min(absolute.find('/', begin), absolute.size());
    const std::string_view part = absolute.substr(begin, end - begin);
    begin = end + 1;
    if (part == "..")
      below.resize(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
    else if (!part.empty() && part != ".")
      below += fmt::format("{}{}", below.empty() ? "" : "/", part);
  }
  return below;
}

Result<Plan> read_plan(analysis::Engine& engine) {
  Plan plan;
  PlanReader reader(plan);
  std::string none;
  const output::Sink sink(none);
  auto read = output::for_each_row(engine, kSql, sink, [&](const TraceRow& row) {
    if (plan.actions.size() <= kActionsMost)
      reader.add(row);
  });
  if (!read)
    return std::unexpected(read.error());
  if (plan.actions.size() > kActionsMost)
    return fail("cannot replay the trace",
                fmt::format("it has more than {} calls on files", kActionsMost),
                "Record a shorter time, or fewer files.");
  if (plan.actions.empty())
    return fail("cannot replay the trace", "it has no call on a file that can be made again",
                "Record system calls or the C library: iotrail record -l syscall -- COMMAND");
  const std::uint64_t first_ns = plan.actions.front().begin_ns;
  for (Action& action : plan.actions) {
    action.begin_ns -= first_ns;
    action.end_ns -= first_ns;
  }
  return plan;
}

} // namespace iotrail::replay
