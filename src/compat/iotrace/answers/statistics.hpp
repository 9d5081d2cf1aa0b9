// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics and histograms of a trace, from the views that the report of iotrail uses too.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"

namespace iotrail::compat::iotrace {

// {"statistics":[{desc,duration,read,write,discard,flush,total}]}, an element a device.
Result<nlohmann::ordered_json> statistics_json(analysis::Engine& engine);

// {"entries":[{deviceId,partitionId,directory|fileNamePrefix|fileExtension,statistics}]}
Result<nlohmann::ordered_json> file_statistics_json(analysis::Engine& engine);

// {"device":[{id,name,size,model}]}, whole disks.
Result<nlohmann::ordered_json> devices_json(analysis::Engine& engine);

struct Histogram {
  std::string_view sql; // device, operation, from, to, count
  std::string_view unit;
  std::vector<std::string_view> operations; // the groups of the answer, in order
};
Histogram latency_histogram();
Histogram size_histogram();
Histogram depth_histogram();

// {"histogram":[{desc,duration,read:{unit,range:[{begin,end,count}]},...}]}
Result<nlohmann::ordered_json> histogram_json(analysis::Engine& engine, const Histogram& histogram);

struct LbaOptions {
  std::uint64_t bucket_sectors = 20480;
  std::uint64_t from_sector = 0;
  std::uint64_t until_sector = INT64_MAX;
};
Result<void> check_subrange(const LbaOptions& options);
Result<nlohmann::ordered_json> lba_histogram_json(analysis::Engine& engine,
                                                  const LbaOptions& options);

} // namespace iotrail::compat::iotrace
