// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/verb.hpp"
#include "reference/schema_print.hpp"

namespace iotrail::cli {
namespace {

Action declare_schema(CLI::App& app, const Trailing&) {
  auto print = std::make_shared<std::string (*)()>(output::schema_text);
  CLI::Option* markdown = app.add_flag_callback(
      "--markdown", [print] { *print = output::schema_markdown; }, "As docs/events.md");
  CLI::Option* json =
      app.add_flag_callback("--json", [print] { *print = output::schema_json; }, "For programs");
  CLI::Option* sql = app.add_flag_callback(
      "--sql", [print] { *print = output::schema_sql; }, "As CREATE TABLE statements");
  markdown->excludes(json)->excludes(sql);
  json->excludes(sql);
  return [print](const Console& console) -> Result<int> {
    fmt::print(console.out.file, "{}", (*print)());
    return 0;
  };
}

} // namespace

extern const Verb kVerbSchema = {
    .name = "schema",
    .summary = "Print the definition of all events",
    .group = Group::machine,
    .rank = 2,
    .declare = declare_schema,
    .examples = "  iotrail schema\n"
                "  iotrail schema --sql\n",
};

} // namespace iotrail::cli
