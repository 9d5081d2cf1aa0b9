// SPDX-License-Identifier: BSD-3-Clause
//
// The stages and depths of requests equal naive loops over random requests.
#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

constexpr std::int64_t kBegin = 1000;
constexpr std::int64_t kEnd = 4000;

struct Request {
  std::int64_t queued = 0;
  std::optional<std::int64_t> got{};
  std::optional<std::int64_t> inserted{};
  std::int64_t issued = 0;
  std::int64_t completed = 0;
};

std::vector<Request> random_requests(std::mt19937& random) {
  std::vector<Request> requests;
  const auto count = 1 + random() % 60;
  for (unsigned i = 0; i < count; ++i) {
    Request request{.queued = static_cast<std::int64_t>(500 + random() % 3800)};
    std::int64_t at = request.queued;
    const auto later = [&] { return at += static_cast<std::int64_t>(random() % 80); };
    if (random() % 3 != 0)
      request.got = later();
    if (random() % 2 != 0)
      request.inserted = later();
    request.issued = later();
    request.completed = later() + 1;
    requests.push_back(request);
  }
  return requests;
}

// Sectors are used once; addresses of requests are used again.
std::string text_of_requests(const std::vector<Request>& requests) {
  std::string text =
      fmt::format("manifest begin_ns={} end_ns={}\ndevices device=8:0 name=sda\n", kBegin, kEnd);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    const std::string place =
        fmt::format("pid=7 device=8:0 sector={} bytes=4096 flags=read", i * 8);
    text += fmt::format("block_queue ts_ns={} {}\n", r.queued, place);
    if (r.got)
      text += fmt::format("block_getrq ts_ns={} {} wait_ns={}\n", *r.got, place, *r.got - r.queued);
    if (r.inserted)
      text += fmt::format("block_insert ts_ns={} {} request={}\n", *r.inserted, place, i + 1);
    text += fmt::format("block_complete ts_ns={} {} request={} queue_ns={} duration_ns={}\n",
                        r.issued, place, i + 1, r.issued - r.queued, r.completed - r.issued);
  }
  return text;
}

std::vector<std::string> naive_stages(const std::vector<Request>& requests) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> stages; // number and sum
  const auto add = [&](const std::string& stage, std::int64_t ns) {
    ++stages[stage].first;
    stages[stage].second += ns;
  };
  std::vector<std::int64_t> arrivals;
  for (const Request& r : requests) {
    arrivals.push_back(r.queued);
    std::int64_t at = r.queued;
    if (r.got)
      add("2 Q2G", *r.got - at);
    at = r.got.value_or(at);
    if (r.inserted)
      add("3 G2I", *r.inserted - at);
    at = r.inserted.value_or(at);
    add("4 I2D", r.issued - at);
    add("5 D2C", r.completed - r.issued);
    add("6 Q2C", r.completed - r.queued);
  }
  std::ranges::sort(arrivals);
  for (std::size_t i = 1; i < arrivals.size(); ++i)
    add("1 Q2Q", arrivals[i] - arrivals[i - 1]);
  std::vector<std::string> lines;
  for (const auto& [stage, sums] : stages)
    lines.push_back(fmt::format("{} {} {}", stage, sums.first, sums.second));
  return lines;
}

// The number of requests in each nanosecond of the run.
std::vector<int> naive_depths(const std::vector<Request>& requests, bool with_queue) {
  std::vector<int> depths(kEnd - kBegin);
  for (const Request& r : requests)
    for (std::int64_t at = std::max(with_queue ? r.queued : r.issued, kBegin);
         at < std::min(r.completed, kEnd); ++at)
      ++depths[static_cast<std::size_t>(at - kBegin)];
  return depths;
}

std::vector<std::string> histogram_of(const std::vector<int>& depths) {
  std::map<int, int> counts;
  for (const int depth : depths)
    ++counts[depth];
  std::vector<std::string> lines;
  for (const auto& [depth, ns] : counts)
    lines.push_back(fmt::format("{} {}", depth, ns));
  return lines;
}

// Bins of 5 ns: the run has 600.
std::vector<std::string> bins_of(const std::vector<int>& depths) {
  constexpr std::size_t kBinNs = 5;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < depths.size(); at += kBinNs) {
    int sum = 0;
    int most = 0;
    for (std::size_t i = at; i < at + kBinNs; ++i) {
      sum += depths[i];
      most = std::max(most, depths[i]);
    }
    lines.push_back(fmt::format("{} {} {}", at / kBinNs, sum, most));
  }
  return lines;
}

TEST(requests, stages_and_depths_equal_naive_loops_over_12_random_traces) {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    const std::vector<Request> requests = random_requests(random);
    const golden::TestTrace trace(text_of_requests(requests));
    const auto engine = open(trace);
    ASSERT_EQ(rows_of(*engine, "SELECT step, stage, requests, total_ns FROM device_stages WHERE "
                               "operation = 'read' ORDER BY step"),
              naive_stages(requests))
        << round;
    for (const bool with_queue : {false, true}) {
      const std::vector<int> depths = naive_depths(requests, with_queue);
      const std::string place = with_queue ? "all" : "device";
      ASSERT_EQ(rows_of(*engine, fmt::format("SELECT depth, ns FROM device_depths WHERE place = "
                                             "'{}' ORDER BY depth",
                                             place)),
                histogram_of(depths))
          << round;
      ASSERT_EQ(rows_of(*engine,
                        fmt::format("SELECT bin, CAST(round(depth_mean * 5) AS BIGINT), depth_max "
                                    "FROM depth_bins WHERE place = '{}' ORDER BY bin",
                                    place)),
                bins_of(depths))
          << round;
    }
  }
}

TEST(requests, known_stages_add_up_to_the_whole) {
  std::mt19937 random(12);
  const golden::TestTrace trace(text_of_requests(random_requests(random)));
  EXPECT_EQ(answer(*open(trace),
                   "SELECT count(*) FROM (SELECT operation, sum(CASE WHEN stage IN ('Q2G', 'G2I', "
                   "'I2D', 'D2C') THEN total_ns ELSE 0 END) AS parts, sum(CASE stage WHEN 'Q2C' "
                   "THEN total_ns ELSE 0 END) AS whole FROM device_stages GROUP BY operation) "
                   "WHERE parts = whole AND whole > 0"),
            "2");
}

} // namespace
} // namespace iotrail::analysis
