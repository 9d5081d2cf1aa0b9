// SPDX-License-Identifier: BSD-3-Clause
//
// Files, directories, file systems and disks that a recording includes or excludes: from paths to
// the keys of the programs.
#pragma once

#include <bpf/bpf.h>

#include <cerrno>
#include <string>

#include "base/result.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/selection/filter.hpp"

namespace iotrail::capture::kernel {

// Inserts into a map of verdicts; errors name `what`.
template <class Key>
Result<void> put(int map, const Key& key, const std::string& what, iot_u32 value = IOT_WANTED) {
  if (bpf_map_update_elem(map, &key, &value, BPF_ANY) == 0)
    return {};
  if (errno == E2BIG || errno == ENOSPC) // of hash tables, of tries
    return fail("filter: " + what, "more is named than a recording can be restricted to",
                fmt::format("There is room for {} of a kind.", IOT_CHOICE_LIMIT));
  return fail_errno("filter: " + what);
}

Result<void> judge_file(BpfObject& object, const std::string& path, iot_verdict verdict);
Result<void> judge_device(BpfObject& object, const std::string& name, iot_verdict verdict);
Result<void> judge_mount(BpfObject& object, const std::string& path, iot_verdict verdict);
// All wanted and excluded files: of nested directories the innermost decides.
Result<void> judge_folders(BpfObject& object, const Filter& filter);

} // namespace iotrail::capture::kernel
