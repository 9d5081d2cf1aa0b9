// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of the layer vfs.
#include "capture/kernel/load/vfs_hooks.hpp"

#include <utility>

namespace iotrail::capture::kernel {
namespace {

// NOLINTBEGIN(bugprone-suspicious-missing-comma): names of programs are joined from two parts.
// The programs at both ends of a function, on tiers F and K: bpf/probes/vfs/vfs.bpf.h.
#define TRAMPOLINES(function) #function "_enter", #function "_exit"
#define PROBES(function) #function "_kprobe", #function "_kretprobe"

void add_at_vfs(std::vector<EventHooks>& rows, std::string_view event,
                std::vector<Alternative> alternatives) {
  rows.push_back({event, schema::Layer::vfs, std::move(alternatives)});
}

// An operation passes one of these functions, whichever way it took: all of them are hooked, or
// none.
void add_vfs_names(std::vector<EventHooks>& rows) {
  add_at_vfs(
      rows, "vfs_unlink",
      {{"F",
        "fentry+fexit/vfs_unlink+vfs_rmdir",
        {TRAMPOLINES(vfs_unlink), TRAMPOLINES(vfs_rmdir)}},
       {"K", "kprobe+kretprobe/vfs_unlink+vfs_rmdir", {PROBES(vfs_unlink), PROBES(vfs_rmdir)}}});
  add_at_vfs(rows, "vfs_rename",
             {{"F", "fentry+fexit/vfs_rename", {TRAMPOLINES(vfs_rename)}},
              {"K", "kprobe+kretprobe/vfs_rename", {PROBES(vfs_rename)}}});
  add_at_vfs(rows, "vfs_mkdir",
             {{"F",
               "fentry+fexit/vfs_mkdir+vfs_mknod+vfs_create",
               {TRAMPOLINES(vfs_mkdir), TRAMPOLINES(vfs_mknod), TRAMPOLINES(vfs_create)}},
              {"K",
               "kprobe+kretprobe/vfs_mkdir+vfs_mknod+vfs_create",
               {PROBES(vfs_mkdir), PROBES(vfs_mknod), PROBES(vfs_create)}}});
  add_at_vfs(
      rows, "vfs_link",
      {{"F",
        "fentry+fexit/vfs_link+vfs_symlink",
        {TRAMPOLINES(vfs_link), TRAMPOLINES(vfs_symlink)}},
       {"K", "kprobe+kretprobe/vfs_link+vfs_symlink", {PROBES(vfs_link), PROBES(vfs_symlink)}}});
}

void add_vfs_attributes(std::vector<EventHooks>& rows) {
  add_at_vfs(rows, "vfs_stat",
             {{"F", "fentry+fexit/vfs_getattr_nosec", {TRAMPOLINES(vfs_getattr_nosec)}},
              {"K", "kprobe+kretprobe/vfs_getattr_nosec", {PROBES(vfs_getattr_nosec)}}});
  add_at_vfs(rows, "vfs_statfs",
             {{"F", "fentry+fexit/statfs_by_dentry", {TRAMPOLINES(statfs_by_dentry)}},
              {"K", "kprobe+kretprobe/statfs_by_dentry", {PROBES(statfs_by_dentry)}}});
  add_at_vfs(rows, "vfs_setattr",
             {{"F", "fentry+fexit/notify_change", {TRAMPOLINES(notify_change)}},
              {"K", "kprobe+kretprobe/notify_change", {PROBES(notify_change)}}});
  add_at_vfs(rows, "vfs_truncate",
             {{"F",
               "fentry+fexit/do_truncate+vfs_fallocate",
               {TRAMPOLINES(do_truncate), TRAMPOLINES(vfs_fallocate)}},
              {"K",
               "kprobe+kretprobe/do_truncate+vfs_fallocate",
               {PROBES(do_truncate), PROBES(vfs_fallocate)}}});
  // Since 6.2 access control lists have functions of their own.
  add_at_vfs(
      rows, "vfs_xattr",
      {{"F",
        "fentry+fexit/"
        "vfs_setxattr+vfs_getxattr+vfs_listxattr+vfs_removexattr+vfs_set_acl+vfs_get_acl+vfs_"
        "remove_acl",
        {TRAMPOLINES(vfs_setxattr), TRAMPOLINES(vfs_getxattr), TRAMPOLINES(vfs_listxattr),
         TRAMPOLINES(vfs_removexattr), TRAMPOLINES(vfs_set_acl), TRAMPOLINES(vfs_get_acl),
         TRAMPOLINES(vfs_remove_acl)}},
       {"F",
        "fentry+fexit/vfs_setxattr+vfs_getxattr+vfs_listxattr+vfs_removexattr",
        {TRAMPOLINES(vfs_setxattr), TRAMPOLINES(vfs_getxattr), TRAMPOLINES(vfs_listxattr),
         TRAMPOLINES(vfs_removexattr)}},
       {"K",
        "kprobe+kretprobe/"
        "vfs_setxattr+vfs_getxattr+vfs_listxattr+vfs_removexattr+vfs_set_acl+vfs_get_acl+vfs_"
        "remove_acl",
        {PROBES(vfs_setxattr), PROBES(vfs_getxattr), PROBES(vfs_listxattr), PROBES(vfs_removexattr),
         PROBES(vfs_set_acl), PROBES(vfs_get_acl), PROBES(vfs_remove_acl)}},
       {"K",
        "kprobe+kretprobe/vfs_setxattr+vfs_getxattr+vfs_listxattr+vfs_removexattr",
        {PROBES(vfs_setxattr), PROBES(vfs_getxattr), PROBES(vfs_listxattr),
         PROBES(vfs_removexattr)}}});
  add_at_vfs(rows, "vfs_readdir",
             {{"F", "fentry+fexit/iterate_dir", {TRAMPOLINES(iterate_dir)}},
              {"K", "kprobe+kretprobe/iterate_dir", {PROBES(iterate_dir)}}});
  add_at_vfs(
      rows, "vfs_copy",
      {{"F",
        "fentry+fexit/vfs_copy_file_range+vfs_clone_file_range+vfs_dedupe_file_range_one",
        {TRAMPOLINES(vfs_copy_file_range), TRAMPOLINES(vfs_clone_file_range),
         TRAMPOLINES(vfs_dedupe_file_range_one)}},
       {"K",
        "kprobe+kretprobe/vfs_copy_file_range+vfs_clone_file_range+vfs_dedupe_file_range_one",
        {PROBES(vfs_copy_file_range), PROBES(vfs_clone_file_range),
         PROBES(vfs_dedupe_file_range_one)}}});
}

void add_vfs_questions(std::vector<EventHooks>& rows) {
  add_at_vfs(rows, "vfs_readlink",
             {{"F", "fentry+fexit/vfs_readlink", {TRAMPOLINES(vfs_readlink)}},
              {"K", "kprobe+kretprobe/vfs_readlink", {PROBES(vfs_readlink)}}});
  add_at_vfs(rows, "vfs_access",
             {{"F", "fentry+fexit/inode_permission", {TRAMPOLINES(inode_permission)}},
              {"K", "kprobe+kretprobe/inode_permission", {PROBES(inode_permission)}}});
  // Since 6.6 close() does not pass filp_close, but its parts.
  add_at_vfs(rows, "vfs_flush",
             {{"F", "fentry+fexit/filp_flush", {TRAMPOLINES(filp_flush)}},
              {"F", "fentry+fexit/filp_close", {TRAMPOLINES(filp_close)}},
              {"K", "kprobe+kretprobe/filp_flush", {PROBES(filp_flush)}},
              {"K", "kprobe+kretprobe/filp_close", {PROBES(filp_close)}}});
}

} // namespace

void add_vfs_hooks(std::vector<EventHooks>& rows) {
  add_at_vfs(rows, "vfs_read",
             {{"F",
               "fentry+fexit/vfs_read+vfs_readv+vfs_iter_read",
               {TRAMPOLINES(vfs_read), TRAMPOLINES(vfs_readv), TRAMPOLINES(vfs_iter_read)}},
              {"K",
               "kprobe+kretprobe/vfs_read+vfs_readv+vfs_iter_read",
               {PROBES(vfs_read), PROBES(vfs_readv), PROBES(vfs_iter_read)}}});
  add_at_vfs(rows, "vfs_write",
             {{"F",
               "fentry+fexit/vfs_write+vfs_writev+vfs_iter_write",
               {TRAMPOLINES(vfs_write), TRAMPOLINES(vfs_writev), TRAMPOLINES(vfs_iter_write)}},
              {"K",
               "kprobe+kretprobe/vfs_write+vfs_writev+vfs_iter_write",
               {PROBES(vfs_write), PROBES(vfs_writev), PROBES(vfs_iter_write)}}});
  add_at_vfs(rows, "vfs_open",
             {{"F", "fentry+fexit/do_dentry_open", {TRAMPOLINES(do_dentry_open)}},
              {"K", "kprobe+kretprobe/do_dentry_open", {PROBES(do_dentry_open)}}});
  // vfs_fsync calls vfs_fsync_range. A compiler may inline it there, and both into their system
  // calls: the calls themselves record a sync that neither has seen (vfs.bpf.c).
  add_at_vfs(rows, "vfs_fsync",
             {{"F",
               "fentry+fexit/vfs_fsync+vfs_fsync_range, tp_btf/sys_exit",
               {TRAMPOLINES(vfs_fsync), TRAMPOLINES(vfs_fsync_range)}},
              {"K",
               "kprobe+kretprobe/vfs_fsync+vfs_fsync_range, tp_btf/sys_exit",
               {PROBES(vfs_fsync), PROBES(vfs_fsync_range)}}});
  add_vfs_names(rows);
  add_vfs_attributes(rows);
  add_vfs_questions(rows);
}
// NOLINTEND(bugprone-suspicious-missing-comma)

} // namespace iotrail::capture::kernel
