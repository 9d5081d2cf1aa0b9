// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of a trace and its lock. A recorder holds the lock exclusively until it ends. A
// trace in state RUNNING without a holder has therefore lost its recorder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::store {

inline constexpr std::string_view kTraceSuffix = ".iotrail";
inline constexpr const char* kManifestName = "manifest.json";

// Directory of traces that are given by name: IOTRAIL_REPOSITORY, else below the XDG state
// directory.
std::filesystem::path repository_path();

// Creates the directory and takes its lock. Fails if the name exists.
Result<Fd> create_trace_directory(const std::filesystem::path& trace);

// Fails if `trace` is not a directory; the error says what to do.
Result<Fd> open_trace_directory(const std::filesystem::path& trace);

// Takes the lock of an open directory without waiting. False: another process has it.
bool lock_for_recording(const Fd& directory);
bool is_being_recorded(const Fd& directory);

// Opens a file of the trace for reading. Refuses all but regular files, without waiting: traces
// come from other people, a link leads out of the trace, and opening a FIFO would block.
Result<Fd> open_regular(const Fd& directory, const char* name,
                        const std::filesystem::path& shown_as);

Result<std::string> read_file(const Fd& directory, const char* name,
                              const std::filesystem::path& shown_as);

// Replaces the manifest by rename. The space of the next manifest is reserved on the disk, so that
// the recorder can still write the manifest that reports a full disk.
Result<void> replace_manifest(const Fd& directory, std::string_view text,
                              const std::filesystem::path& shown_as);
void drop_manifest_reserve(const Fd& directory);

// Fails if the name `trace` no longer leads to the open directory, since it was moved, removed or
// replaced. The error says where the trace is now, if that is known.
Result<void> check_place(const Fd& directory, const std::filesystem::path& trace);

// The numbers of the segments, sorted.
Result<std::vector<std::uint32_t>> list_segments(const Fd& directory,
                                                 const std::filesystem::path& trace);

// Removes the files of the trace, then its directory. Other files stay, and so does the directory;
// the error names them. Follows no link.
Result<void> remove_trace_directory(const Fd& directory, const std::filesystem::path& trace);

} // namespace iotrail::store
