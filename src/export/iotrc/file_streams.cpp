// SPDX-License-Identifier: BSD-3-Clause
//
// The streams of files: fs, and pagefault of the older layout.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/iotrc/stream.hpp"

namespace iotrail::output::iotrc {
namespace {

// How a table of system calls becomes rows: SQL over it. Empty members are NULL, and names are 0.
struct Source {
  std::string_view table;
  std::string_view operation;
  std::string_view file = "file";
  std::string_view path = "0";    // key of strings
  std::string_view to_path = "0"; // likewise; set: two names
  std::string_view size = {};
  std::string_view offset = {};
  std::string_view flags = {};
  std::string_view prot = {};
  std::string_view map_flags = {};
  std::string_view address = {};
  std::string_view where = "true";
};

constexpr std::string_view kModeFlags =
    "array_to_string(list_filter(list_transform([[16384, 0], [2048, 1], [1024, 2], [512, 3], [256, "
    "4], [128, 5], [64, 6], "
    "[32, 7], [16, 8], [8, 9], [4, 10], [2, 11], [1, 12]], lambda b: CASE WHEN mode & b[1] <> 0 OR "
    "b[2] = 0 THEN "
    "['S_IFDIR', 'S_ISUID', 'S_ISGID', 'S_ISVTX', 'S_IRUSR', 'S_IWUSR', 'S_IXUSR', 'S_IRGRP', "
    "'S_IWGRP', 'S_IXGRP', "
    "'S_IROTH', 'S_IWOTH', 'S_IXOTH'][b[2] + 1] END), lambda name: name IS NOT NULL), '|')";

constexpr Source kSources[] = {
    {.table = "syscall_read",
     .operation = "'read'",
     .size = "bytes_requested",
     .offset = "position",
     .flags = "flags_text('rwf', flags)"},
    {.table = "syscall_write",
     .operation = "'write'",
     .size = "bytes_requested",
     .offset = "position",
     .flags = "flags_text('rwf', flags)"},
    {.table = "syscall_open",
     .operation = "'open'",
     .path = "path",
     .flags = "flags_text('open', flags)"},
    {.table = "syscall_close", .operation = "'close'"},
    {.table = "syscall_sync",
     .operation = "CASE WHEN call IN ('fsync', 'fdatasync') THEN call ELSE 'sync' END",
     .size = "nullif(bytes, 0)",
     .offset = "position",
     .flags = "flags_text('sync_range', flags)"},
    {.table = "syscall_mmap",
     .operation = "'mmap'",
     .size = "bytes",
     .offset = "position",
     .prot = "flags_text('prot', prot)",
     .map_flags = "flags_text('map', flags)",
     .address = "printf('0x%x', address)"},
    {.table = "syscall_munmap",
     .operation = "'munmap'",
     .size = "bytes",
     .offset = "position",
     .address = "printf('0x%x', address)"},
    {.table = "syscall_mremap",
     .operation = "'mremap'",
     .size = "new_bytes",
     .offset = "position",
     .flags = "flags_text('mremap', flags)",
     .address = "printf('0x%x -> 0x%x', address, new_address)"},
    {.table = "syscall_msync",
     .operation = "'msync'",
     .size = "bytes",
     .offset = "position",
     .flags = "flags_text('msync', flags)"},
    {.table = "syscall_advise",
     .operation = "'madvise'",
     .size = "bytes",
     .offset = "position",
     .flags = "'MADV_' || advice",
     .where = "call = 'madvise'"},
    {.table = "syscall_stat", .operation = "'getattr'", .path = "path"},
    {.table = "syscall_setattr", .operation = "'setattr'", .path = "path"},
    {.table = "syscall_chdir", .operation = "'chdir'", .path = "path"},
    {.table = "syscall_readdir", .operation = "'readdir'", .size = "bytes_requested"},
    {.table = "syscall_unlink",
     .operation = "CASE WHEN call = 'rmdir' OR contains(flags_text('at', flags), 'AT_REMOVEDIR') "
                  "THEN 'rmdir' ELSE 'unlink' END",
     .file = "0",
     .path = "path"},
    {.table = "syscall_truncate",
     .operation = "CASE WHEN call = 'fallocate' THEN 'fallocate' ELSE 'truncate' END",
     .path = "path",
     .size = "bytes",
     .offset = "position",
     .flags = "flags_text('fallocate', mode)"},
    {.table = "syscall_rename",
     .operation = "'rename'",
     .file = "0",
     .path = "path",
     .to_path = "new_path"},
    {.table = "syscall_mkdir",
     .operation = "'mkdir'",
     .file = "0",
     .path = "path",
     .flags = kModeFlags,
     .where = "call IN ('mkdir', 'mkdirat')"},
    {.table = "syscall_link",
     .operation = "CASE WHEN starts_with(call, 'symlink') THEN 'symlink' ELSE 'link' END",
     .file = "0",
     .path = "target",
     .to_path = "path"},
    {.table = "syscall_copy",
     .operation = "CASE WHEN call IN ('sendfile', 'vmsplice') THEN call ELSE 'splice' END",
     .file = "in_file",
     .size = "bytes_requested",
     .offset = "in_position",
     .flags = "flags_text('splice', flags)"},
    {.table = "async_operation",
     .operation = "CASE WHEN contains(call, 'READ') THEN 'read' ELSE 'write' END",
     .size = "bytes_requested",
     .offset = "position",
     .flags = "flags_text('sqe', flags)",
     .where = "regexp_matches(call, '^(IORING_OP_(READ|WRITE)|IOCB_CMD_P(READ|WRITE))')"},
};

std::string_view or_null(std::string_view sql) {
  return sql.empty() ? "NULL" : sql;
}

std::string rows_of(const Source& source) {
  return fmt::format("SELECT ts_ns, op_id, pid, tid, {} AS operation, {} AS file, {} AS path, {} "
                     "AS to_path, CAST({} AS UBIGINT) AS size, "
                     "CAST({} AS BIGINT) AS position, nullif(CAST({} AS VARCHAR), '0') AS flags, "
                     "CAST({} AS VARCHAR) AS prot, "
                     "CAST({} AS VARCHAR) AS map_flags, "
                     "CAST({} AS VARCHAR) AS address, result, duration_ns FROM {} WHERE ({}){}",
                     source.operation, source.file, source.path, source.to_path,
                     or_null(source.size), or_null(source.offset), or_null(source.flags),
                     or_null(source.prot), or_null(source.map_flags), or_null(source.address),
                     source.table, source.where,
                     source.path == "0" ? fmt::format(" AND {} <> 0", source.file) : std::string());
}

// Life of processes: no call, no file.
constexpr std::string_view kLifeRows =
    "SELECT ts_ns, op_id, pid, tid, 'process_exec', 0, path, 0, NULL, NULL, NULL, NULL, NULL, "
    "NULL, NULL, NULL FROM process_exec "
    "UNION ALL SELECT ts_ns, op_id, pid, tid, 'process_exit', 0, 0, 0, NULL, NULL, NULL, NULL, "
    "NULL, NULL, CAST(status AS BIGINT), NULL "
    "FROM process_exit WHERE group_dead = 1";

std::string fs_rows(const Names& names) {
  std::vector<std::string> parts;
  for (const Source& source : kSources)
    parts.push_back(rows_of(source));
  parts.emplace_back(kLifeRows);
  return fmt::format(
      "WITH asked AS ({0}), on_files AS (SELECT * FROM asked WHERE file NOT IN "
      "(SELECT file FROM files_without_device)), "
      "given AS (SELECT pid, ts_ns, string, any_value(path) AS path, "
      "any_value(to_path) AS to_path FROM all_path_calls GROUP BY ALL), "
      "named AS (SELECT a.*, coalesce(nullif(path_at(CAST(a.file AS UINTEGER), a.ts_ns), ''), "
      "g.given_path, c.path, s.text, CASE WHEN a.operation = 'process_exec' "
      "THEN p.exe END) AS name, coalesce(c.to_path, t.text) AS to_name, p.comm AS "
      "command, p.command AS cmdline, nullif(p.parent_pid, 0) AS ppid, "
      "f.inode AS inode, f.device AS device, f.file_system AS file_system FROM "
      "on_files AS a LEFT JOIN files AS f ON a.file = f.file AND a.file <> 0 "
      "LEFT JOIN given_paths AS g ON a.file = g.file LEFT JOIN strings AS s ON "
      "a.path = s.string AND a.path <> 0 LEFT JOIN strings AS t ON "
      "a.to_path = t.string AND a.to_path <> 0 LEFT JOIN given AS c ON a.path <> 0 "
      "AND c.pid = a.pid AND c.ts_ns = a.ts_ns AND c.string = a.path {1}) "
      "SELECT ts_ns AS at_ns, * REPLACE (CASE WHEN to_path <> 0 THEN {2} || ' -> ' || "
      "{3} ELSE {2} END AS name, {4} AS cmdline) "
      "FROM named ORDER BY ts_ns, op_id, operation",
      fmt::join(parts, " UNION ALL "), program_join("p", "a.pid", "a.ts_ns"), names.path("name"),
      names.path("to_name"), names.text("cmdline"));
}

constexpr std::string_view kFileBytesSql =
    "CASE WHEN result >= 0 AND operation IN ('read', 'write', "
    "'sendfile', 'splice', 'vmsplice') THEN result END";
constexpr std::string_view kFileDeviceSql =
    "CASE WHEN device <> 0 THEN concat(device >> 20, ':', device & 1048575) END";
constexpr std::string_view kFileTypeSql =
    "CASE WHEN file_system LIKE 'ext_' THEN 'EXT2/3/4' ELSE upper(nullif(file_system, '')) END";

const Column kFileCommand = {"command", "string", "", "Name of the process.", "command"};
const Column kFilePid = {"pid", "u32", "", "Process.", "pid"};
const Column kFileTid = {"tid", "u32", "", "Thread.", "tid"};
const Column kFileName = {"filename", "string", "",
                          "Path at that time; 'old -> new' of calls with two names.", "name"};
const Column kFileSize = {"size", "u64", "bytes", "Bytes asked for, or the length of the range.",
                          "size"};
const Column kFileOffset = {"offset", "u64", "bytes", "Position in the file; empty if 0.",
                            "CASE WHEN position > 0 THEN position END"};
const Column kFileInode = {"inode", "u64", "", "Inode number.", "nullif(inode, 0)"};
const Column kFileFlags = {"flags", "string", "", "Flags of the call.", "flags"};

Stream current_fs(const Names& names) {
  return {
      .name = "fs",
      .description = "Calls on files, and reads and writes of io_uring and libaio.",
      .wall_clock = kEventClock,
      .columns =
          {kTimestamp,
           {"operation", "string", "", "Operation, in lower case.", "operation"},
           kFilePid,
           kFileTid,
           kFileCommand,
           kFileName,
           kFileSize,
           kFileOffset,
           {"bytes_completed", "u64", "bytes", "Bytes moved.", kFileBytesSql},
           kFileInode,
           {"device", "string", "", "Device of the file system, major:minor.", kFileDeviceSql},
           kFileFlags,
           {"duration_ns", "u64", "nanoseconds", "From entry to return.",
            "CASE WHEN NOT is_unfinished(result) THEN duration_ns END"},
           {"return_value", "s64", "", "Result, or a negative errno.",
            "CASE WHEN NOT is_unfinished(result) THEN result END"},
           {"errno", "string", "", "Name of the error.",
            "CASE WHEN result < 0 AND NOT is_unfinished(result) THEN errno_name(result) END"},
           {"mmap_prot", "string", "", "PROT_* of mmap.", "prot"},
           {"mmap_flags", "string", "", "MAP_* of mmap.", "map_flags"},
           {"address", "string", "", "Address of the mapping.", "address"},
           {"cmdline", "string", "", "Command line of the process.", "cmdline"},
           {"ppid", "u32", "", "Parent process.", "ppid"},
           {"container_id", "u64", "",
            "Always empty: iotrail records paths of control groups, not their numbers.", "NULL"},
           {"fs_type", "string", "", "File system.", kFileTypeSql},
           kMonoNs},
      .rows = fs_rows(names)};
}

Stream seed_fs(const Names& names) {
  return {.name = "fs",
          .description = "Calls on files, and reads and writes of io_uring and libaio.",
          .wall_clock = kEventClock,
          .columns = {kTimestamp,
                      {"operation", "string", "", "Operation, in upper case.", "upper(operation)"},
                      kFilePid,
                      kFileCommand,
                      kFileName,
                      kFileSize,
                      kFileInode,
                      kFileFlags,
                      kFileOffset,
                      kFileTid},
          .rows = fs_rows(names)};
}

Stream page_faults() {
  return {
      .name = "pagefault",
      .description = "Faults on mapped files.",
      .wall_clock = kEventClock,
      .columns = {kTimestamp,
                  kFilePid,
                  kFileTid,
                  kFileCommand,
                  {"fault_type", "string", "", "READ or WRITE.",
                   "CASE access WHEN 'write' THEN 'WRITE' ELSE 'READ' END"},
                  {"severity", "string", "", "MAJOR: read from a device; MINOR.",
                   "CASE WHEN major = 1 THEN 'MAJOR' ELSE 'MINOR' END"},
                  kFileInode,
                  {"offset", "u64", "pages", "Page in the file.",
                   "CASE WHEN position >= 0 THEN position // 4096 END"},
                  {"address", "string", "", "Address touched.", "printf('0x%x', address)"},
                  {"dev_id", "u32", "", "Device of the file system.", "device"}},
      .rows = fmt::format(
          "SELECT a.ts_ns AS at_ns, a.*, p.comm AS command, f.inode AS inode, f.device AS device "
          "FROM fault_file AS a LEFT JOIN files AS f ON a.file = f.file "
          "AND a.file <> 0 {} ORDER BY a.ts_ns, a.op_id",
          program_join("p", "a.pid", "a.ts_ns"))};
}

} // namespace

void add_file_streams(Era era, const Names& names, std::vector<Stream>& all) {
  all.push_back(era == Era::current ? current_fs(names) : seed_fs(names));
  if (era == Era::seed)
    all.push_back(page_faults());
}

} // namespace iotrail::output::iotrc
