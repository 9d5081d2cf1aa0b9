// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of the layer cache.
#include "capture/kernel/load/cache_hooks.hpp"

#include <utility>

namespace iotrail::capture::kernel {
namespace {

void add_to_cache(std::vector<EventHooks>& rows, std::string_view event,
                  std::vector<Alternative> alternatives) {
  rows.push_back({event, schema::Layer::cache, std::move(alternatives)});
}

void add_pages(std::vector<EventHooks>& rows) {
  // Two programs: the second parameter of filemap_get_pages was the iterator before it was the
  // count. Faults differ from look-ups only if they are operations.
  const auto hits = [](std::string_view hook, std::string_view program, int parameters) {
    return Alternative{"F",
                       hook,
                       {program, "cache_filemap_add", "fault_filemap_enter", "fault_filemap_exit",
                        "block_find_functions"},
                       parameters};
  };
  add_to_cache(rows, "cache_hit",
               {hits("fexit/filemap_get_pages", "cache_get_pages_exit", 4),
                hits("fexit/filemap_get_pages (iterator)", "cache_get_pages_iter_exit", 3)});
  add_to_cache(rows, "cache_add",
               {{"T", "tp_btf/mm_filemap_add_to_page_cache", {"cache_filemap_add"}}});
  add_to_cache(rows, "cache_delete",
               {{"T", "tp_btf/mm_filemap_delete_from_page_cache", {"cache_filemap_delete"}}});
  add_to_cache(rows, "cache_dirty", {{"T", "tp_btf/writeback_dirty_folio", {"cache_dirty_folio"}}});
  add_to_cache(rows, "cache_refault",
               {{"F", "fentry/workingset_refault", {"cache_refault_enter"}},
                {"K", "kprobe/workingset_refault", {"cache_refault_kprobe"}}});
}

// The programs at both ends of the functions that read windows: bpf/probes/cache/cache_readahead.bpf.c.
// NOLINTBEGIN(bugprone-suspicious-missing-comma): names of programs are joined from two parts.
void add_windows(std::vector<EventHooks>& rows) {
#define WINDOW_FUNCTIONS                                                                           \
  "page_cache_sync_ra+page_cache_async_ra+page_cache_ra_order+force_page_cache_ra"
#define WINDOW_PROGRAMS(enter, exit)                                                               \
  {"page_cache_sync_ra_" enter,  "page_cache_sync_ra_" exit,   "page_cache_async_ra_" enter,       \
   "page_cache_async_ra_" exit,  "page_cache_ra_order_" enter, "page_cache_ra_order_" exit,        \
   "force_page_cache_ra_" enter, "force_page_cache_ra_" exit}
  add_to_cache(
      rows, "cache_readahead",
      {{"F", "fentry+fexit/" WINDOW_FUNCTIONS, WINDOW_PROGRAMS("enter", "exit")},
       {"K", "kprobe+kretprobe/" WINDOW_FUNCTIONS, WINDOW_PROGRAMS("kprobe", "kretprobe")}});
#undef WINDOW_PROGRAMS
#undef WINDOW_FUNCTIONS
}
// NOLINTEND(bugprone-suspicious-missing-comma)

Alternative writing_back(std::string_view tier, std::string_view hook,
                         std::vector<std::string_view> programs) {
  programs.insert(programs.end(), {"cache_flush_begin", "cache_flush_end"});
  return {tier, hook, std::move(programs)};
}

// The work of the kernel's threads separates ext4's own write-back from theirs, so both tracepoints
// are needed, also for the begin. Tracepoints come last: on file systems other than ext4 they miss
// the writes of fsync.
void add_write_backs(std::vector<EventHooks>& rows) {
  const Alternative with_ext4 = writing_back(
      "T", "tp_btf/writeback_single_inode_start+writeback_single_inode, ext4_writepages+result",
      {"cache_single_inode_start", "cache_single_inode_end", "cache_ext4_writepages",
       "cache_ext4_writepages_result"});
  const Alternative without =
      writing_back("T", "tp_btf/writeback_single_inode_start+writeback_single_inode",
                   {"cache_single_inode_start", "cache_single_inode_end"});
  add_to_cache(rows, "cache_writeback",
               {writing_back("F", "fentry/do_writepages", {"cache_do_writepages"}),
                writing_back("K", "kprobe/do_writepages", {"cache_do_writepages_kprobe"}),
                with_ext4, without});
  add_to_cache(rows, "cache_writeback_end",
               {writing_back("F", "fentry+fexit/do_writepages",
                             {"cache_do_writepages", "cache_do_writepages_exit"}),
                writing_back("K", "kprobe+kretprobe/do_writepages",
                             {"cache_do_writepages_kprobe", "cache_do_writepages_kretprobe"}),
                with_ext4, without});
}

} // namespace

void add_cache_hooks(std::vector<EventHooks>& rows) {
  add_pages(rows);
  add_windows(rows);
  add_write_backs(rows);
}

} // namespace iotrail::capture::kernel
