// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of a trace and its lock. Whoever records holds the lock exclusively for as long as it lives, so that a
// trace without a holder but in state RUNNING is one whose recorder is gone.
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

// Where traces with a name and no path lie: IOTRAIL_REPOSITORY, else XDG state.
std::filesystem::path repository_path();

// Makes the directory and takes its lock. Fails if anything has that name.
Result<Fd> create_trace_directory(const std::filesystem::path& trace);

// Fails for what is not a directory, with what to do about it.
Result<Fd> open_trace_directory(const std::filesystem::path& trace);

// Of an open directory, without waiting. False: another process has it.
bool lock_for_recording(const Fd& directory);
bool is_being_recorded(const Fd& directory);

// A file of the trace, for reading. What is not a regular file is refused without waiting: a trace comes from others, and
// a link leads out of it, a FIFO to nowhere.
Result<Fd> open_regular(const Fd& directory, const char* name,
                        const std::filesystem::path& shown_as);

Result<std::string> read_file(const Fd& directory, const char* name,
                              const std::filesystem::path& shown_as);

// Replaces the manifest by rename. The next one's space on the disk is reserved in advance, so that a full disk does not
// keep a recording from saying that the disk was full.
Result<void> replace_manifest(const Fd& directory, std::string_view text,
                              const std::filesystem::path& shown_as);
void drop_manifest_reserve(const Fd& directory);

// An error where `trace` is no more the name of the open directory: it was moved or removed, and something else may have
// taken its place. It says where the trace is now, as far as that is known.
Result<void> check_place(const Fd& directory, const std::filesystem::path& trace);

// The numbers of the segments, sorted.
Result<std::vector<std::uint32_t>> list_segments(const Fd& directory,
                                                 const std::filesystem::path& trace);

// Removes the files that a trace consists of, and then the directory. Anything else in it stays, and the directory with
// it: the error names what that is. No link is followed.
Result<void> remove_trace_directory(const Fd& directory, const std::filesystem::path& trace);

} // namespace iotrail::store
