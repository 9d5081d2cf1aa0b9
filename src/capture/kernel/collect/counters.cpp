// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/counters.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <bpf/bpf.h>

namespace iotrail::capture::kernel {

iot_counter_values read_counters(int map_fd, std::uint32_t cpu_count) {
  iot_counter_values sums{};
  std::vector<iot_counter_values> values(cpu_count);
  const iot_u32 zero = 0;
  if (bpf_map_lookup_elem(map_fd, &zero, values.data()) != 0)
    return sums;
  for (const iot_counter_values& own : values) {
    std::ranges::transform(sums.value, own.value, std::begin(sums.value), std::plus{});
    std::ranges::transform(sums.bypassed, own.bypassed, std::begin(sums.bypassed), std::plus{});
    sums.longest_lost_ns = std::max(sums.longest_lost_ns, own.longest_lost_ns);
  }
  return sums;
}

} // namespace iotrail::capture::kernel
