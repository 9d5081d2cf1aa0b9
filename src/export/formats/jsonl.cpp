// SPDX-License-Identifier: BSD-3-Clause
#include "export/format.hpp"
#include "export/json.hpp"

namespace iotrail::output {
namespace {

class JsonLinesOutput : public Output {
public:
  explicit JsonLinesOutput(Sink& sink) : sink_(sink) {}
  void begin(std::span<const ResultColumn> columns) override { columns_ = columns; }
  void row(std::span<const Cell> cells) override {
    put_json_object(sink_, columns_, cells);
    sink_.put('\n');
  }
  void end() override {}

private:
  Sink& sink_;
  std::span<const ResultColumn> columns_;
};

} // namespace

extern const Format kFormatJsonl = {
    .name = "jsonl",
    .doc = "One JSON object per line.",
    .gives = Gives::stream,
    .make = [](Sink& sink, std::size_t) -> std::unique_ptr<Output> {
      return std::make_unique<JsonLinesOutput>(sink);
    },
};

} // namespace iotrail::output
