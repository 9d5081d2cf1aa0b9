// SPDX-License-Identifier: BSD-3-Clause
//
// A trace as text, for tests. One statement a line: a word, then name=value pairs; values with
// blanks are quoted ("a b"). `#` begins a comment line.
//
//   syscall_read ts_ns=5 duration_ns=9 pid=7 file=/a call=pread64 result=-ENOENT flags=RWF_NOWAIT
//       any event of the schema; omitted fields are 0, omitted offsets and descriptors -1, tid is
//       pid. Numbers with a meaning may be names: files and paths are their text, values and flags
//       their names, devices 8:1.
//   file path=/a inode=12 device=8:1 mode=0100644 generation=0
//       the file of a path; a path without such a line is a regular file
//   processes pid=7 comm=cp ...        and other dictionary tables, except ids of text and files
//   manifest command="cp a b" host=h state=COMPLETE ...
//   source name=kernel produced=9 written=9 lost=0
//   hook event=vfs_read source=kernel tier=F hook= reason="..." remedy="..."
//   counter kernel_ring_full=3
//   tag name=value
//   block                              ends the blocks of all tables here
//   incomplete                         the recorder never ends the trace
//   failed                             the recorder failed, and reported it at its end
//   damage table=syscall_read          a byte of the table's last block is wrong
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::golden {

// Writes the trace into the new directory `trace`. Errors name the line.
Result<void> write_text_trace(std::string_view text, const std::filesystem::path& trace);

} // namespace iotrail::golden
