// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "capture/snapshot/proc_text.hpp"
#include "capture/snapshot/system.hpp"

namespace iotrail::capture::snapshot {
namespace {

// By sysctl(8) name.
constexpr std::string_view kSysctls[] = {
    "dev.raid.speed_limit_max",
    "dev.raid.speed_limit_min",
    "fs.aio-max-nr",
    "fs.aio-nr",
    "fs.epoll.max_user_watches",
    "fs.file-max",
    "fs.file-nr",
    "fs.inode-nr",
    "fs.inotify.max_user_watches",
    "fs.nr_open",
    "fs.pipe-max-size",
    "fs.pipe-user-pages-soft",
    "fs.xfs.xfssyncd_centisecs",
    "kernel.hung_task_timeout_secs",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.tainted",
    "kernel.task_delayacct",
    "net.core.busy_poll",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.dirtytime_expire_seconds",
    "vm.laptop_mode",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.page-cluster",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.watermark_scale_factor",
    "vm.zone_reclaim_mode",
};

// By path below /sys.
constexpr std::string_view kSysfs[] = {
    "devices/system/clocksource/clocksource0/current_clocksource",
    "devices/system/cpu/cpu0/cpufreq/scaling_driver",
    "devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "devices/system/cpu/smt/active",
    "kernel/mm/ksm/run",
    "kernel/mm/lru_gen/enabled",
    "kernel/mm/numa/demotion_enabled",
    "kernel/mm/swap/vma_ra_enabled",
    "kernel/mm/transparent_hugepage/defrag",
    "kernel/mm/transparent_hugepage/enabled",
    "kernel/mm/transparent_hugepage/khugepaged/defrag",
    "kernel/mm/transparent_hugepage/shmem_enabled",
    "kernel/security/lockdown",
    "module/nvme_core/parameters/io_timeout",
    "module/nvme_core/parameters/multipath",
    "module/zswap/parameters/compressor",
    "module/zswap/parameters/enabled",
};

void add_setting(SnapshotRun& run, std::string_view name, const std::string& path) {
  using Record = iot_snapshot_setting;
  const std::string text = read_line(path);
  if (text.empty())
    return; // this kernel has no such setting, or it is unreadable
  Record row{};
  ++run.found;
  run.add(row, {{&Record::name, name}, {&Record::setting, text}});
}

} // namespace

void take_settings(SnapshotRun& run, const SystemFiles& files) {
  for (const std::string_view name : kSysctls) {
    std::string path = files.proc + "/sys/";
    std::ranges::replace_copy(name, std::back_inserter(path), '.', '/');
    add_setting(run, name, path);
  }
  for (const std::string_view name : kSysfs)
    add_setting(run, name, files.sys + "/" + std::string(name));
}

} // namespace iotrail::capture::snapshot
