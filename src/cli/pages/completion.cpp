// SPDX-License-Identifier: BSD-3-Clause
#include "cli/pages/completion.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/findings/rule.hpp"
#include "cli/face.hpp"
#include "export/format.hpp"
#include "export/trace_format.hpp"
#include "import/import_format.hpp"
#include "reference/sql_reference.hpp"
#include "schema.hpp"

namespace iotrail::cli {
namespace {

using Words = std::vector<std::string>;

// What to offer for the name of a value; the names of files and directories are the shell's affair.
std::map<std::string, Words> words_by_value() {
  std::map<std::string, Words> words;
  words["TABLE"] = {"operation", "file", "process", "device"};
  words["KIND"] = {"fs", "process", "system"};
  for (const schema::LayerInfo& row : schema::kLayers)
    if (row.layer != schema::Layer::dictionary && row.layer != schema::Layer::snapshot &&
        !schema::has_own_verb(row.layer))
      words["LAYER"].emplace_back(row.name);
  for (const schema::Event& event : schema::kEvents)
    if (!event.is_dictionary() && event.layer != schema::Layer::snapshot &&
        !schema::has_own_verb(event.layer))
      words["EVENT"].emplace_back(event.name);
  for (const output::Format* format : output::formats())
    words["FORMAT"].emplace_back(format->name);
  words["EXPORT_FORMAT"] = words["FORMAT"];
  for (const output::TraceFormat* format : output::trace_formats())
    words["EXPORT_FORMAT"].emplace_back(format->name);
  for (const import::ImportFormat* format : import::import_formats())
    words["IMPORT_FORMAT"].emplace_back(format->name);
  for (const output::Relation& relation : output::sql_relations())
    words["VIEW"].push_back(relation.name.substr(0, relation.name.find('(')));
  for (const output::Relation& relation : output::finding_relations())
    words["VIEW"].push_back(relation.name);
  for (const analysis::Rule& rule : analysis::finding_rules()) {
    words["RULE"].push_back(rule.id);
    for (const analysis::RuleLimit& limit : rule.limits)
      words["LIMIT=VALUE"].push_back(fmt::format("{}.{}=", rule.id, limit.name));
  }
  for (const Face* face : faces())
    words["PROGRAM"].emplace_back(face->name);
  words["SEVERITY"] = {"warning", "critical"};
  return words;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& program) {
  std::vector<const CLI::App*> verbs;
  for (const CLI::App* verb : program.get_subcommands({}))
    verbs.push_back(verb);
  return verbs;
}

std::vector<const CLI::Option*> options_of(const CLI::App& verb) {
  return verb.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

// The value of the verb's positional arguments; empty: none.
std::string positional_of(const CLI::App& verb) {
  const auto found =
      verb.get_options([](const CLI::Option* option) { return option->get_positional(); });
  return found.empty() ? "" : found.front()->get_type_name();
}

Words names_of(const CLI::Option& option) {
  Words names;
  for (const std::string& name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

std::string first_sentence(std::string_view text) {
  std::string sentence(text.substr(0, text.find_first_of(".;:\n")));
  std::erase_if(sentence, [](char c) { return c == '\'' || c == '`' || c == '[' || c == ']'; });
  return sentence;
}

constexpr std::string_view kTraces =
    R"(  local repository=${IOTRAIL_REPOSITORY:-${XDG_STATE_HOME:-$HOME/.local/state}/iotrail} trace
  echo latest
  for trace in "$repository"/*.iotrail; do
    [ -e "$trace" ] && trace=${trace##*/} && echo "${trace%.iotrail}"
  done
)";

// The branches of the script's case statements.
struct BashCases {
  Words verbs;
  std::string options;
  std::string values;
  std::string positionals;
};

BashCases bash_cases(const CLI::App& program) {
  BashCases cases;
  for (const CLI::App* verb : verbs_of(program)) {
    cases.verbs.push_back(verb->get_name());
    Words names;
    for (const CLI::Option* option : options_of(*verb)) {
      const Words of_option = names_of(*option);
      names.insert(names.end(), of_option.begin(), of_option.end());
      if (option->get_type_size() == 0)
        continue;
      for (const std::string& name : of_option)
        cases.values += fmt::format("    {}:{}) value={} ;;\n", verb->get_name(), name,
                                    option->get_type_name());
    }
    cases.options +=
        fmt::format("    {}) options=\"{}\" ;;\n", verb->get_name(), fmt::join(names, " "));
    if (const std::string value = positional_of(*verb); !value.empty())
      cases.positionals += fmt::format("    {}) value={} ;;\n", verb->get_name(), value);
  }
  return cases;
}

} // namespace

std::string bash_completion(const CLI::App& program) {
  const BashCases cases = bash_cases(program);
  std::string words;
  for (const auto& [value, of_value] : words_by_value())
    words += fmt::format("    {}) words=\"{}\" ;;\n", value, fmt::join(of_value, " "));
  return fmt::format(R"bash(# bash completion of iotrail
_iotrail_traces() {{
{}}}

_iotrail() {{
  local current=$2 previous=$3 verb=${{COMP_WORDS[1]}} options= value= words= word
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
    if [ "$word" = -- ]; then # the command's own
      COMPREPLY=($(compgen -c -f -- "$current"))
      return
    fi
  done
  case $verb in
{}  esac
  case $verb:$previous in
{}  esac
  if [ -z "$value" ]; then
    case $current in
    -*)
      COMPREPLY=($(compgen -W "$options" -- "$current"))
      return
      ;;
    esac
    case $verb in
{}    esac
  fi
  case $value in
{}  esac
  if [ -n "$words" ]; then
    local list=
    case $current in
    *,*) list=${{current%,*}}, ;;
    esac
    COMPREPLY=($(compgen -P "$list" -W "$words" -- "${{current##*,}}"))
  fi
  if [ "$value" = TRACE ]; then # compgen -W would execute what a name contains
    while IFS= read -r word; do
      [[ $word == "$current"* ]] && COMPREPLY+=("$(printf %q "$word")")
    done < <(_iotrail_traces)
  fi
  case $value in
  TRACE | *FILE | *DIRECTORY | PATH) COMPREPLY+=($(compgen -f -- "$current")) ;;
  esac
}}
complete -F _iotrail iotrail
)bash",
                     kTraces, fmt::join(cases.verbs, " "), cases.options, cases.values,
                     cases.positionals, words);
}

// "LIMIT" of LIMIT=VALUE
static std::string zsh_name(const std::string& value) {
  return value.substr(0, value.find('='));
}

// A word that ends in = takes a value.
static std::string zsh_function(const std::string& value, const Words& words) {
  std::string specs;
  for (const std::string& word : words)
    specs += word.ends_with('=') ? fmt::format(" '{}:value: '", word.substr(0, word.size() - 1))
                                 : " " + word;
  return fmt::format("_iotrail_{}() {{ _values -s , {}{} }}\n", zsh_name(value), zsh_name(value),
                     specs);
}

std::string zsh_completion(const CLI::App& program) {
  std::string functions;
  for (const auto& [value, words] : words_by_value())
    functions += zsh_function(value, words);
  std::string verbs;
  std::string cases;
  for (const CLI::App* verb : verbs_of(program)) {
    verbs +=
        fmt::format("    '{}:{}'\n", verb->get_name(), first_sentence(verb->get_description()));
    cases += fmt::format("    {}) _arguments", verb->get_name());
    const auto action = [](const std::string& value) {
      if (value == "TRACE" || words_by_value().contains(value))
        return fmt::format(":{0}:_iotrail_{0}", zsh_name(value));
      return fmt::format(":{}:_files", value);
    };
    for (const CLI::Option* option : options_of(*verb))
      for (const std::string& name : names_of(*option))
        cases +=
            fmt::format(" \\\n      '{}[{}]{}'", name, first_sentence(option->get_description()),
                        option->get_type_size() == 0 ? "" : action(option->get_type_name()));
    if (const std::string value = positional_of(*verb); !value.empty())
      cases += fmt::format(" \\\n      '*{}'", action(value));
    cases += " ;;\n";
  }
  return fmt::format(R"zsh(#compdef iotrail
_iotrail_TRACE() {{
  local -a traces
  traces=(${{(f)"$(_iotrail_traces)"}})
  compadd -a traces
  _files
}}
_iotrail_traces() {{
{}}}
{}
_iotrail() {{
  local -a verbs
  verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{}  esac
}}
_iotrail "$@"
)zsh",
                     kTraces, functions, verbs, cases);
}

std::string fish_completion(const CLI::App& program) {
  std::string text = R"(# fish completion of iotrail
function __iotrail_traces
  set -l repository $IOTRAIL_REPOSITORY
  if test -z "$repository"
    set -l state $XDG_STATE_HOME
    test -z "$state"; and set state $HOME/.local/state
    set repository $state/iotrail
  end
  echo latest
  for trace in $repository/*.iotrail
    string replace -r '.*/(.*)\.iotrail$' '$1' $trace
  end
end
)";
  const std::map<std::string, Words> words = words_by_value();
  const auto offered = [&](const std::string& value) {
    if (value == "TRACE")
      return std::string(" -a '(__iotrail_traces)'");
    const auto found = words.find(value);
    return found == words.end() ? "" : fmt::format(" -f -a '{}'", fmt::join(found->second, " "));
  };
  for (const CLI::App* verb : verbs_of(program)) {
    const std::string when =
        fmt::format("complete -c iotrail -n '__fish_seen_subcommand_from {}'", verb->get_name());
    text += fmt::format("complete -c iotrail -f -n __fish_use_subcommand -a {} -d '{}'\n",
                        verb->get_name(), first_sentence(verb->get_description()));
    for (const CLI::Option* option : options_of(*verb)) {
      text += when;
      for (const std::string& name : option->get_snames())
        text += " -s " + name;
      for (const std::string& name : option->get_lnames())
        text += " -l " + name;
      if (option->get_type_size() != 0)
        text += " -r" + offered(option->get_type_name());
      text += fmt::format(" -d '{}'\n", first_sentence(option->get_description()));
    }
    if (const std::string value = positional_of(*verb); !value.empty())
      text += when + offered(value) + "\n";
  }
  return text;
}

} // namespace iotrail::cli
