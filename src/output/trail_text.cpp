// SPDX-License-Identifier: BSD-3-Clause
#include "output/trail_text.hpp"

#include "output/printable.hpp"
#include "output/report_summary.hpp"
#include "output/trail_sections.hpp"
#include "output/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kDefectsSql = R"(
SELECT source || ': ' || produced || ' produced, but ' || written || ' written and ' || lost || ' lost' AS defect
FROM sources WHERE produced <> written + lost
UNION ALL
SELECT coalesce(device_name, 'device ' || device) || ' ' || direction || ': ' || abs(differs) || ' B of ' || completed
       || ' completed are in no link, or in several'
FROM conservation WHERE differs <> 0
UNION ALL
SELECT 'from the calls to the devices, ' || direction || ': the parts make ' || sum(bytes) || ' B, the devices completed '
       || any_value(completed)
FROM byte_balance
  JOIN (SELECT direction AS way, sum(completed) AS completed FROM conservation GROUP BY direction) AS c ON direction = way
GROUP BY direction HAVING sum(bytes) <> any_value(completed))";

// What was lost does add up; what it could have changed is not sure.
constexpr std::string_view kLostSql = "SELECT total(lost) AS lost FROM sources";

void print_doubt(const SmallResult& rows, Sink& sink, std::size_t width) {
  const std::uint64_t lost = rows.size() > 0 ? rows.number(0, "lost") : 0;
  if (lost > 0)
    print_wrapped(fmt::format("{} event{} lost: what those could have changed has a cause that is "
                              "inferred, and none beyond doubt",
                              human_count(lost), lost == 1 ? " was" : "s were"),
                  sink, width);
}

} // namespace

Result<bool> write_verification(analysis::Engine& engine, std::size_t width, std::FILE* file) {
  Sink sink(file);
  bool is_first = true;
  for (const Section& section : verification()) {
    const auto rows = SmallResult::query(engine, section_sql(section, {}));
    if (!rows)
      return std::unexpected(rows.error());
    if (!has_text(section, *rows))
      continue;
    sink.put(is_first ? "" : "\n");
    is_first = false;
    print_section(section, {}, *rows, engine.trace(), sink, width);
  }
  const auto lost = SmallResult::query(engine, kLostSql);
  if (!lost)
    return std::unexpected(lost.error());
  const auto defects = SmallResult::query(engine, kDefectsSql);
  if (!defects)
    return std::unexpected(defects.error());
  engine.trace().read_all();
  const std::vector<std::string> damage = damage_sentences(engine.trace());
  const bool adds_up = defects->size() == 0 && damage.empty();
  sink.put(adds_up ? "\nEverything adds up.\n" : "\nThis does not add up\n");
  print_doubt(*lost, sink, width);
  for (const std::string& sentence : choice_sentences(engine.trace().manifest()))
    print_wrapped(sentence, sink, width);
  for (std::size_t row = 0; row < defects->size(); ++row)
    print_wrapped(printable(defects->text(row, "defect")), sink, width);
  for (const std::string& sentence : damage)
    print_wrapped(printable(sentence), sink, width);
  if (Result<void> finished = sink.finish(); !finished)
    return std::unexpected(finished.error());
  return adds_up;
}

} // namespace iotrail::output
