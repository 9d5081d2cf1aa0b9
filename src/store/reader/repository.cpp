// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/repository.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "base/clock.hpp"
#include "base/nearest_name.hpp"
#include "store/format/layout.hpp"
#include "store/reader/segment_index.hpp"

namespace iotrail::store {
namespace {

namespace fs = std::filesystem;

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(kTraceSuffix);
}

std::string with_suffix(std::string_view name) {
  return std::string(name) + (name.ends_with(kTraceSuffix) ? "" : std::string(kTraceSuffix));
}

std::string name_of(const fs::path& trace) {
  std::string name = trace.filename().string();
  if (name.ends_with(kTraceSuffix))
    name.resize(name.size() - kTraceSuffix.size());
  return name;
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*'))
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern.empty() || name == pattern;
}

// Equals events_bytes of the manifest; also known for a trace without an end.
std::uint64_t events_bytes_of(const Fd& directory, const fs::path& trace) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t number :
       list_segments(directory, trace).value_or(std::vector<std::uint32_t>())) {
    struct stat status{};
    const std::string name = segment_name(segment_kind(number), number);
    if (fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

bool is_segment(const Fd& directory, const fs::path& trace, std::uint32_t number) {
  const std::string name = segment_name(segment_kind(number), number);
  const auto file = open_regular(directory, name.c_str(), trace / name);
  std::array<std::byte, sizeof(SegmentHeader)> begin{};
  return file && pread(file->get(), begin.data(), begin.size(), 0) == std::ssize(begin) &&
         read_segment_header(begin);
}

// Only removes what a recorder made. A manifest alone proves nothing: it may be a copy that the
// user keeps among other files. A recorder makes a segment first, and a removal deletes the last
// segment at its end.
bool is_made_by_recorder(const Fd& directory, const fs::path& trace) {
  const auto segments = list_segments(directory, trace);
  if (!segments || segments->empty())
    return false;
  const auto manifest = read_file(directory, kManifestName, trace / kManifestName);
  return (manifest && manifest_from_json(*manifest)) ||
         std::ranges::any_of(
             *segments, [&](std::uint32_t number) { return is_segment(directory, trace, number); });
}

} // namespace

bool is_trace(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return false;
  const auto has = [&](const fs::path& name) { return fs::exists(path / name, error); };
  return has(kManifestName) || has(segment_name(SegmentKind::dictionary, 0)) ||
         has(segment_name(SegmentKind::events, 1)) ||
         (error == std::errc::permission_denied && path.extension() == kTraceSuffix);
}

RepositoryEntry repository_entry(const fs::path& trace) {
  RepositoryEntry entry{trace, name_of(trace), {}, 0, ""};
  if (const auto directory = open_trace_directory(trace))
    entry.events_bytes = events_bytes_of(*directory, trace);
  if (auto manifest = read_manifest(trace))
    entry.manifest = std::move(*manifest);
  else
    entry.problem = manifest.error().line();
  return entry;
}

namespace {

Result<fs::path> latest_trace() {
  const fs::path repository = repository_path();
  auto traces = list_traces(repository);
  if (!traces)
    return std::unexpected(traces.error());
  // By real time: the monotonic clock restarts with each boot.
  const auto began = [](const RepositoryEntry& entry) { return entry.manifest.begin_real_ns(); };
  std::erase_if(*traces, [](const RepositoryEntry& entry) { return !entry.problem.empty(); });
  if (traces->empty())
    return fail(
        "there is no latest trace", "no trace in " + repository.string(),
        "record one: iotrail record -- COMMAND; IOTRAIL_REPOSITORY names another directory");
  return std::ranges::max_element(*traces, {}, began)->path;
}

} // namespace

fs::path new_trace_path(std::string_view name, std::string_view command) {
  if (is_path(name))
    return with_suffix(name);
  if (!name.empty())
    return repository_path() / with_suffix(name);
  std::string program = fs::path(command).filename().string();
  if (program.empty())
    program = "trace";
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  const std::string stem =
      fmt::format("{}-{:04}{:02}{:02}-{:02}{:02}{:02}", program, local.tm_year + 1900,
                  local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
  // Several recordings may begin in one second.
  fs::path path = repository_path() / with_suffix(stem);
  std::error_code ignored;
  for (int i = 2; fs::exists(path, ignored); ++i)
    path = repository_path() / with_suffix(fmt::format("{}-{}", stem, i));
  return path;
}

namespace {

std::vector<fs::path> traces_in(const fs::path& directory) {
  std::vector<fs::path> traces;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == kTraceSuffix)
      traces.push_back(at->path());
  return traces;
}

// The names by which the user could have meant another trace: in the repository, and beside the
// path.
std::vector<std::string> other_names(std::string_view name) {
  std::vector<std::string> names{std::string(kLatest)};
  const bool has_suffix = name.ends_with(kTraceSuffix);
  if (!name.contains('/'))
    for (const fs::path& trace : traces_in(repository_path()))
      names.push_back(name_of(trace));
  const fs::path parent = fs::path(name).parent_path();
  for (const fs::path& trace : traces_in(parent.empty() ? fs::path(".") : parent))
    names.push_back(parent / (has_suffix ? trace.filename().string() : name_of(trace)));
  return names;
}

std::unexpected<Error> no_trace(std::string_view name, const std::vector<fs::path>& tried) {
  std::string list;
  for (const fs::path& path : tried)
    list += (list.empty() ? "" : ", ") + path.string();
  std::string hint = did_you_mean(name, other_names(name));
  hint += hint.empty() ? "" : " ";
  return fail("there is no trace " + std::string(name), "looked for " + list,
              hint + "See `iotrail list`; IOTRAIL_REPOSITORY names another directory of traces.");
}

} // namespace

Result<fs::path> find_trace(std::string_view name) {
  if (name.empty())
    return fail_usage("no trace is named", "", "see: iotrail list");
  std::vector<fs::path> tried = {fs::path(name)};
  if (with_suffix(name) != name)
    tried.emplace_back(with_suffix(name));
  if (!name.contains('/'))
    tried.push_back(repository_path() / with_suffix(name));
  std::error_code ignored;
  // Another file may have that name. If there is no trace, the error says what that file is.
  for (const bool only_traces : {true, false})
    for (fs::path path : tried) {
      if (only_traces ? !is_trace(path) : !fs::exists(path, ignored))
        continue;
      if (!path.has_filename()) // NAME.iotrail/
        path = path.parent_path();
      return path;
    }
  if (name == kLatest)
    return latest_trace();
  return no_trace(name, tried);
}

Result<std::vector<RepositoryEntry>> list_traces(const fs::path& repository,
                                                 std::string_view pattern) {
  std::vector<RepositoryEntry> entries;
  std::error_code error;
  for (fs::directory_iterator at(repository, error), end; !error && at != end; at.increment(error))
    if (const fs::path& path = at->path();
        path.extension() == kTraceSuffix && matches(name_of(path), pattern) && is_trace(path))
      entries.push_back(repository_entry(path));
  // A repository that does not exist yet has no traces.
  if (error && error != std::errc::no_such_file_or_directory)
    return fail_errno("cannot list the traces in " + repository.string(), error.value());
  std::ranges::sort(entries, {}, &RepositoryEntry::name);
  return entries;
}

Result<void> remove_trace(const fs::path& trace, bool force) {
  std::error_code ignored;
  if (fs::is_symlink(trace, ignored))
    return fail("cannot remove " + trace.string(), "it is a symbolic link",
                "name the trace itself: " + fs::read_symlink(trace, ignored).string());
  auto directory = open_trace_directory(trace);
  if (!directory)
    return std::unexpected(directory.error());
  if (!is_made_by_recorder(*directory, trace))
    return fail("cannot remove " + trace.string(),
                "it is not a trace: it has no segment of iotrail",
                "a trace is a directory NAME.iotrail; see: iotrail list");
  if (!force && !lock_for_recording(*directory))
    return fail("cannot remove the trace " + trace.string(), "it is being recorded",
                "stop the recording first, or remove it with --force");
  return remove_trace_directory(*directory, trace);
}

Result<void> tag_trace(const fs::path& trace, const std::string& name, const std::string& value) {
  auto directory = open_trace_directory(trace);
  if (!directory)
    return std::unexpected(directory.error());
  // The recorder writes the manifest at its end, which would undo the tag.
  if (!lock_for_recording(*directory))
    return fail("cannot tag the trace " + trace.string(), "it is being recorded",
                "tag it when the recording has ended");
  auto text = read_file(*directory, kManifestName, trace / kManifestName);
  if (!text)
    return std::unexpected(text.error());
  auto changed = with_tag(*text, name, value);
  if (!changed)
    return std::unexpected(changed.error());
  auto written = replace_manifest(*directory, *changed, trace / kManifestName);
  drop_manifest_reserve(*directory);
  return written;
}

} // namespace iotrail::store
