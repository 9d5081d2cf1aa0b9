// SPDX-License-Identifier: BSD-3-Clause
#include "cli/pages/man_page.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help.hpp"

namespace iotrail::cli {
namespace {

// Text that roff prints as it is.
std::string escaped(std::string_view text) {
  std::string roff;
  for (const char c : text) {
    const bool begins_line = roff.empty() || roff.back() == '\n';
    if (begins_line && (c == '.' || c == '\''))
      roff += "\\&";
    if (c == '\\')
      roff += "\\e";
    else if (c == '-')
      roff += "\\-";
    else
      roff += c;
  }
  return roff;
}

std::string title(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"iotrail " IOTRAIL_VERSION "\" \"iotrail manual\"\n",
                     escaped(upper));
}

std::string option_text(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames())
    names.push_back("\\fB" + escaped("-" + name) + "\\fR");
  for (const std::string& name : option.get_lnames())
    names.push_back("\\fB" + escaped("--" + name) + "\\fR");
  if (names.empty()) // a positional
    names.push_back("\\fI" + escaped(option.get_name(true)) + "\\fR");
  const std::string value = option.nonpositional() ? value_of(option) : "";
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "),
                     value.empty() ? "" : " \\fI" + escaped(value) + "\\fR",
                     escaped(option.get_description()));
}

std::string options_text(const CLI::App& parser) {
  std::string text = ".SH OPTIONS\n";
  for (const CLI::Option* option :
       parser.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    text += option_text(*option);
  for (const std::string& group : parser.get_groups()) {
    const auto options = parser.get_options([&](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
    if (options.empty())
      continue;
    text += fmt::format(".SS \"{}\"\n", escaped(group));
    for (const CLI::Option* option : options)
      text += option_text(*option);
  }
  return text;
}

std::string exit_status_text(const Verb& verb) {
  std::map<int, std::string_view> meanings = {
      {0, "Success."}, {1, "The operation failed."}, {2, "The command line is wrong."}};
  if (verb.takes_command)
    meanings.insert({{3, "With --strict: events were or may have been lost."},
                     {126, "The command cannot be executed."},
                     {127, "The command was not found."}});
  for (const ExitStatus& own : verb.statuses)
    meanings[own.status] = own.meaning;
  std::string text = ".SH EXIT STATUS\n";
  if (verb.takes_command)
    text += "The status of the command, where one ran.\n";
  for (const auto& [status, meaning] : meanings)
    text += fmt::format(".TP\n{}\n{}\n", status, escaped(meaning));
  return text;
}

// All pages but `self`.
std::string see_also(const CLI::App& program, std::string_view self) {
  std::vector<std::string> pages;
  if (!self.empty())
    pages.emplace_back("\\fBiotrail\\fR(1)");
  for (const CLI::App* verb : program.get_subcommands({}))
    if (verb->get_name() != self)
      pages.push_back(fmt::format("\\fBiotrail\\-{}\\fR(1)", escaped(verb->get_name())));
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

} // namespace

std::string man_page(const CLI::App& program) {
  std::string page = title("iotrail");
  page += fmt::format(".SH NAME\niotrail \\- follow I/O from the call to the device\n"
                      ".SH SYNOPSIS\n\\fBiotrail\\fR \\fIVERB\\fR [\\fIOPTION\\fR]...\n"
                      ".SH DESCRIPTION\n{}\n.SH VERBS\n",
                      escaped(program.get_description()));
  for (const CLI::App* verb : program.get_subcommands({}))
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(verb->get_name()),
                        escaped(verb->get_description()));
  return page + see_also(program, "");
}

std::string man_page(const Verb& verb, const CLI::App& parser, const CLI::App& program) {
  std::string page = title(fmt::format("iotrail-{}", verb.name));
  page += fmt::format(".SH NAME\niotrail\\-{} \\- {}\n", escaped(verb.name), escaped(verb.summary));
  page += fmt::format(".SH SYNOPSIS\n\\fBiotrail\\fR {}\n", escaped(usage_of(verb, parser)));
  page += fmt::format(".SH DESCRIPTION\n{}.\n", escaped(verb.summary));
  if (const std::string footer = parser.get_footer(); !footer.empty())
    page += fmt::format(".PP\n{}\n", escaped(footer));
  page += options_text(parser);
  if (!verb.examples.empty())
    page += fmt::format(".SH EXAMPLES\n.nf\n{}.fi\n", escaped(verb.examples));
  return page + exit_status_text(verb) + see_also(program, verb.name);
}

} // namespace iotrail::cli
