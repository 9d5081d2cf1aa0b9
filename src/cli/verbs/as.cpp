// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "cli/face.hpp"
#include "cli/verb.hpp"

namespace iotrail::cli {
namespace {

std::vector<std::string_view> face_names() {
  std::vector<std::string_view> names;
  for (const Face* face : faces())
    names.push_back(face->name);
  return names;
}

Result<int> run_as(const Console& console, const Trailing& words) {
  const std::vector<std::string_view> names = face_names();
  if (words.empty())
    return fail_usage("as: no program named",
                      fmt::format("the programs are {}", fmt::join(names, ", ")),
                      "Write for example `iotrail as iotrace --help`.");
  const Face* face = find_face(words.front());
  if (face == nullptr)
    return fail_usage(fmt::format("as: there is no program '{}'", words.front()),
                      fmt::format("the programs are {}", fmt::join(names, ", ")),
                      did_you_mean(words.front(), names));
  return face->run(console, {std::next(words.begin()), words.end()});
}

Action declare_as(CLI::App& app, const Trailing& words) {
  std::string programs;
  for (const Face* face : faces())
    programs += fmt::format("{}{}: {}", programs.empty() ? "" : "; ", face->name, face->summary);
  const auto unparsed = std::make_shared<std::vector<std::string>>(); // for the help only
  app.add_option("words", *unparsed, "The other program, and its arguments as it has them")
      ->type_name("PROGRAM");
  app.footer(fmt::format(
      "Programs: {}. docs/compat/PROGRAM.md says what each option does, and what differs. A link "
      "with the name of the program does the same: installation makes one.",
      programs));
  return [&words, unparsed](const Console& console) { return run_as(console, words); };
}

} // namespace

extern const Verb kVerbAs = {
    .name = "as",
    .summary = "Understand the command line of another tracer",
    .group = Group::machine,
    .rank = 9,
    .declare = declare_as,
    .examples = "  iotrail as iotrace --start-tracing --devices /dev/sda --time 60\n"
                "  iotrail as iotrace --trace-management --list-traces\n",
    .takes_words = true,
};

} // namespace iotrail::cli
