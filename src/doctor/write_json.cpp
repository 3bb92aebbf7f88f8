// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "doctor/write.hpp"

namespace heddle::doctor {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson of(const Party& party) {
  OrderedJson json{{"kind", name_of(party.kind)}};
  const auto number = [&](const char* name, std::int64_t value) {
    if (value >= 0) json[name] = value;
  };
  number("rank", party.rank);
  number("task", party.task);
  number("block", party.block);
  number("core", party.core);
  number("cell", party.cell);
  number("ring", party.ring);
  if (!party.name.empty()) json["name"] = party.name;
  if (party.source.known()) json["source"] = party.source.text();
  if (!party.id.empty()) json["id"] = party.id;
  if (!party.text.empty()) json["text"] = party.text;
  return json;
}

OrderedJson of(const WaitReport& wait) {
  OrderedJson json{
      {"who", of(wait.who)}, {"kind", name_of(wait.kind)}, {"cause", wait.is_cause}, {"sentence", wait.sentence}};
  if (wait.what.kind != Party::Kind::none) json["what"] = of(wait.what);
  if (!wait.compare.empty()) json["compare"] = wait.compare;
  if (wait.needs) json["needs"] = *wait.needs;
  if (wait.has) json["has"] = *wait.has;
  OrderedJson& could = json["could_satisfy"] = OrderedJson::array();
  for (const Satisfier& each : wait.could)
    could.push_back({{"who", of(each.who)}, {"why_not", name_of(each.why)}, {"sentence", each.sentence}});
  return json;
}

template <class Items, class Make>
OrderedJson array_of(const Items& items, Make make) {
  OrderedJson json = OrderedJson::array();
  for (const auto& item : items) json.push_back(make(item));
  return json;
}

}  // namespace

OrderedJson to_json(const Report& report) {
  OrderedJson json{{"verdict", report.verdict},  {"code", report.code},        {"name", report.code_name},
                   {"message", report.sentence}, {"proved", report.is_proved}, {"recorded", report.is_recorded}};
  if (report.concluded_code >= 0) json["concluded_code"] = report.concluded_code;
  if (!report.disagreement.empty()) json["disagreement"] = report.disagreement;
  json["culprit"] = report.culprit.kind == Party::Kind::none ? OrderedJson() : of(report.culprit);
  json["chain"] = array_of(report.chain, [](const Step& step) {
    OrderedJson made{{"kind", name_of(step.kind)}, {"sentence", step.sentence}};
    if (step.from.kind != Party::Kind::none) made["from"] = of(step.from);
    if (step.to.kind != Party::Kind::none) made["to"] = of(step.to);
    return made;
  });
  json["chain_closes"] = report.chain_closes;
  json["waits"] = array_of(report.waits, [](const WaitReport& wait) { return of(wait); });
  json["victims"] = array_of(report.victims, [](const Party& party) { return of(party); });
  json["classes"] = array_of(report.classes, [](const StateClass& same) {
    return OrderedJson{{"of", same.of == Party::Kind::core ? "cores" : "ranks"},
                       {"who", same.text},
                       {"count", same.members.size()},
                       {"state", same.state},
                       {"members", array_of(same.members, [](const Party& each) { return OrderedJson(each.id); })}};
  });
  json["anomalies"] = array_of(report.anomalies, [](const Anomaly& odd) {
    return OrderedJson{{"where", of(odd.where)}, {"sentence", odd.sentence}};
  });
  json["hypotheses"] = array_of(report.hypotheses, [](const Hypothesis& each) {
    return OrderedJson{{"name", each.name}, {"outcome", name_of(each.outcome)}, {"sentence", each.sentence}};
  });
  json["missing"] = array_of(report.missing, [](const Missing& each) {
    return OrderedJson{{"what", each.what}, {"sentence", each.sentence}, {"decides", each.decides}};
  });
  json["advice"] = report.advice;
  json["notes"] = report.notes;
  json["graph"] = {{"nodes", report.nodes}, {"edges", report.edges}, {"knots", report.knots}};
  return json;
}

}  // namespace heddle::doctor
