// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of a trace and its lock. Whoever records holds the lock exclusively for as long as it lives, so that a
// trace without a holder but in state RUNNING is one whose recorder is gone.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::store {

inline constexpr const char* kManifestName = "manifest.json";

// Makes the directory and takes its lock. Fails if anything has that name.
Result<Fd> create_trace_directory(const std::filesystem::path& trace);

// Fails for what is not a directory, with what to do about it.
Result<Fd> open_trace_directory(const std::filesystem::path& trace);

// Of an open directory, without waiting. False: another process has it.
bool lock_for_recording(const Fd& directory);
bool is_being_recorded(const Fd& directory);

Result<std::string> read_file(const Fd& directory, const char* name,
                              const std::filesystem::path& shown_as);

// Replaces the manifest by rename. The next one's space on the disk is reserved in advance, so that a full disk does not
// keep a recording from saying that the disk was full.
Result<void> replace_manifest(const Fd& directory, std::string_view text,
                              const std::filesystem::path& shown_as);
void drop_manifest_reserve(const Fd& directory);

} // namespace iotrail::store
