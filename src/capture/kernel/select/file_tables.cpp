// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/select/file_tables.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <system_error>

#include "base/fd.hpp"

namespace iotrail::capture::kernel {

namespace {

iot_u32 place_of(iot_u32 age) {
  return age % IOT_FILE_TABLES;
}

} // namespace

void FileTables::keep_empty_one() {
  const iot_u32 young = __atomic_load_n(&ages_->young, __ATOMIC_ACQUIRE);
  const bool has_old = __atomic_load_n(&ages_->files[place_of(young - 2)], __ATOMIC_RELAXED) != 0;
  const bool needs_empty =
      __atomic_load_n(&ages_->empty, __ATOMIC_ACQUIRE) <= young &&
      __atomic_load_n(&ages_->files[place_of(young)], __ATOMIC_RELAXED) >= files_ / 2;
  if ((!has_old && !needs_empty) || is_at_work_.exchange(true))
    return;
  try {
    worker_ = std::jthread([this, young, needs_empty] {
      if (needs_empty)
        make_empty(young + 1);
      forget(young - 2);
      is_at_work_ = false;
    });
  } catch (const std::system_error&) { // no thread can be started now: the next call tries again
    is_at_work_ = false;
  }
}

void FileTables::make_empty(iot_u32 age) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
  const Fd table(bpf_map_create(BPF_MAP_TYPE_HASH, "files", sizeof(iot_file_key), sizeof(iot_u32),
                                files_, &options));
  const iot_u32 place = place_of(age);
  const int descriptor = table.get();
  if (descriptor >= 0 && bpf_map_update_elem(tables_fd_, &place, &descriptor, BPF_ANY) == 0)
    __atomic_store_n(&ages_->empty, age, __ATOMIC_RELEASE);
}

// Programs look at the younger table and the older one only.
void FileTables::forget(iot_u32 age) {
  const iot_u32 place = place_of(age);
  if (__atomic_load_n(&ages_->files[place], __ATOMIC_RELAXED) == 0)
    return;
  bpf_map_delete_elem(tables_fd_, &place); // returns when no program uses it any more
  const iot_u32 kept = __atomic_exchange_n(&ages_->kept[place], 0U, __ATOMIC_RELAXED);
  const iot_u32 files = __atomic_exchange_n(&ages_->files[place], 0U, __ATOMIC_RELEASE);
  forgotten_ += files - std::min(kept, files);
}

} // namespace iotrail::capture::kernel
