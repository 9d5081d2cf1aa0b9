// SPDX-License-Identifier: BSD-3-Clause
#include "output/trail_text.hpp"

#include "output/printable.hpp"
#include "output/recorded.hpp"
#include "output/trail_sections.hpp"
#include "output/units.hpp"
#include "output/warnings.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kDefectsSql = R"(
SELECT format('{}: {:,} produced, but {:,} written and {:,} lost', source, produced, written, lost) AS defect
FROM sources WHERE CAST(produced AS HUGEINT) <> CAST(written AS HUGEINT) + lost
UNION ALL
SELECT format('{} {}: {:,} B of {:,} completed are in no link, or in several', coalesce(device_name, 'device ' || device),
              direction, abs(differs), completed)
FROM conservation WHERE differs <> 0
UNION ALL
SELECT format('from the calls to the devices, {}: the parts make {:,} B, the devices completed {:,}', direction, sum(bytes),
              any_value(completed))
FROM byte_balance
  JOIN (SELECT direction AS way, sum(completed) AS completed FROM conservation GROUP BY direction) AS c ON direction = way
GROUP BY direction HAVING sum(bytes) <> any_value(completed))";

// What was lost does add up; what it could have changed is not sure.
constexpr std::string_view kLostSql = "SELECT total(lost) AS lost FROM sources";

void print_doubt(const SmallResult& rows, Sink& sink, std::size_t width) {
  const std::uint64_t lost = rows.size() > 0 ? rows.number(0, "lost") : 0;
  if (lost > 0)
    print_wrapped(fmt::format("{} event{} lost: what {} could have changed has a cause that is "
                              "inferred, and none beyond doubt",
                              human_count(lost), lost == 1 ? " was" : "s were",
                              lost == 1 ? "it" : "they"),
                  sink, width);
}

constexpr std::string_view kConservation = "conservation"; // the section of devices

constexpr std::string_view kNotCounted =
    "Sources are counted when a recording ends. Whether each event that they produced is in this "
    "trace, or is known to be lost, cannot be checked.";

std::string_view conclusion(bool is_sound, bool is_counted, bool has_devices) {
  if (!is_sound)
    return "\nThis does not add up\n";
  if (!is_counted)
    return "\nWhat can be checked adds up; not everything can be\n";
  return has_devices ? "\nEverything adds up.\n" : "\nEverything that was recorded adds up.\n";
}

} // namespace

Result<bool> write_verification(analysis::Engine& engine, std::size_t width, std::FILE* file) {
  Sink sink(file);
  bool is_first = true;
  const std::string no_devices =
      layer_not_recorded(engine.trace(), schema::layer_name(IOT_LAYER_block));
  for (Section section : verification()) {
    if (section.name == kConservation && !no_devices.empty())
      section.if_empty = no_devices;
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
  const bool is_counted = engine.trace().manifest().is_counted();
  const bool is_sound = defects->size() == 0 && damage_sentences(engine.trace()).empty();
  sink.put(conclusion(is_sound, is_counted, no_devices.empty()));
  for (std::size_t row = 0; row < defects->size(); ++row)
    print_wrapped(printable(defects->text(row, "defect")), sink, width);
  print_doubt(*lost, sink, width);
  for (const std::string& sentence : warning_sentences(engine.trace()))
    print_wrapped(sentence, sink, width);
  if (!is_counted)
    print_wrapped(kNotCounted, sink, width);
  if (Result<void> finished = sink.finish(); !finished)
    return std::unexpected(finished.error());
  return is_sound && is_counted;
}

} // namespace iotrail::output
