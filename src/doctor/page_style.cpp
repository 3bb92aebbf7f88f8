// SPDX-License-Identifier: Apache-2.0
//
// How the HTML page looks, and the little that it does: copy a command, open what a link leads to. A change of the
// script changes its hash; the test of the page in a browser says so.
#include "doctor/page.hpp"

namespace heddle::doctor {

const char* const page_style = R"css(
:root{color-scheme:light dark;--back:#f4f5f8;--card:#fff;--ink:#1a1d24;--soft:#586172;--line:#dde1e8;--link:#2f4fc4;
--bad:#c0232c;--bad-soft:#fdecec;--warn:#96560a;--warn-soft:#fdf1de;--good:#1f7a3a;--good-soft:#e6f5ea;--calm:#e9ecf2;
--run:#3b6fd4;--code:#f0f2f6;--mark:#fff3bf;
--k0:#3b6fd4;--k1:#0f8a7a;--k2:#a2570c;--k3:#8a49c0;--k4:#b83a72;--k5:#5c7a12;--k6:#23809e;--k7:#6a6f7c}
@media (prefers-color-scheme:dark){:root{--back:#12141a;--card:#1b1e26;--ink:#e7eaf0;--soft:#9ea7b8;--line:#323744;
--link:#94acff;--bad:#ff8585;--bad-soft:#3a1d21;--warn:#f5b562;--warn-soft:#36291a;--good:#7fd79a;--good-soft:#18301f;
--calm:#282d38;--run:#6f9bf0;--code:#242834;--mark:#57491a;
--k0:#6f9bf0;--k1:#43b8a6;--k2:#dd9447;--k3:#b98ae6;--k4:#e57fab;--k5:#a3c24f;--k6:#5fbbd8;--k7:#a3a9b7}}
*{box-sizing:border-box}
html{scroll-padding-top:56px;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",
sans-serif;overflow-wrap:anywhere}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
main,header.top,footer{max-width:1180px;margin:0 auto;padding:0 20px}
header.top{padding-top:18px;display:flex;flex-wrap:wrap;gap:4px 18px;color:var(--soft);font-size:13px}
header.top b{color:var(--ink)}
nav{position:sticky;top:0;z-index:2;background:var(--back);border-bottom:1px solid var(--line);margin-bottom:22px}
nav div{max-width:1180px;margin:0 auto;padding:10px 20px;display:flex;gap:20px;overflow-x:auto;white-space:nowrap;font-size:14px}
section,.verdict{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 22px;margin:0 0 18px}
.verdict{border-left:6px solid var(--bad);margin-top:14px}.verdict.good{border-left-color:var(--good)}
.verdict.open{border-left-color:var(--warn)}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;color:var(--bad)}.good h1{color:var(--good)}.open h1{color:var(--warn)}
h2{font-size:18px;margin:0 0 4px}h3{font-size:15px;margin:20px 0 6px}
.lead{font-size:17px;margin:8px 0}.soft,.none,.left,.legend{color:var(--soft);font-size:13.5px;margin:4px 0 12px}
.left{font-style:italic}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:18px}.pair section{min-width:0}
.big{font-size:20px;font-weight:650;margin:6px 0 2px}
dl{display:grid;grid-template-columns:fit-content(40%) 1fr;gap:4px 16px;margin:10px 0 0;font-size:14px}
dt{color:var(--soft);min-width:0}dd{margin:0;min-width:0}
code,.source,.command{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:13px}
.command{display:flex;align-items:center;gap:10px;background:var(--code);border-radius:6px;padding:8px 12px;margin:10px 0 0}
.command code{flex:1;min-width:0;overflow-x:auto;white-space:pre}
button{font:inherit;font-size:12.5px;color:var(--link);background:none;border:1px solid var(--line);border-radius:5px;
padding:2px 9px;cursor:pointer}
.badge{display:inline-block;border-radius:20px;padding:1px 9px;font-size:12px;font-weight:600;background:var(--calm);
color:var(--soft);white-space:nowrap}
.badge.bad,.badge.waits,.badge.dead,.badge.confirmed{background:var(--bad-soft);color:var(--bad)}
.badge.held,.badge.open{background:var(--warn-soft);color:var(--warn)}
.badge.runs,.badge.good,.badge.excluded{background:var(--good-soft);color:var(--good)}
ul,ol{padding-left:22px;margin:8px 0}li{margin:5px 0}
.advice li:first-child{font-weight:600}.classes{list-style:none;padding:0}.classes b{margin-right:6px}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;color:var(--soft);font-weight:600;white-space:nowrap}
th,td{padding:6px 14px 6px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:normal}
.stack b{font-weight:600}td.wide{min-width:220px}small{color:var(--soft)}
tr:target,div:target,li:target,details:target>summary{background:var(--mark)}
summary{cursor:pointer;padding:4px 0}details{margin:6px 0}.cell .value{color:var(--soft)}
.chain{display:grid;grid-template-columns:minmax(0,max-content) minmax(320px,1fr);gap:8px 34px;align-items:start}
.chain.narrow{grid-template-columns:1fr}
.steps{counter-reset:step;list-style:none;padding:0;margin:0}
.steps li{counter-increment:step;padding:7px 0 7px 36px;position:relative;margin:0}
.steps li::before{content:counter(step);position:absolute;left:0;top:8px;width:24px;height:24px;border-radius:50%;
background:var(--calm);color:var(--soft);text-align:center;font-size:13px;font-weight:650;line-height:24px}
.steps li.last{color:var(--bad);font-weight:600}
.wait{border-top:1px solid var(--line);padding:10px 0}.wait>p{margin:0 0 4px}
.wait ul{list-style:none;padding-left:14px;border-left:2px solid var(--line);margin:6px 0 0 2px;font-size:14px}
svg{display:block}svg text{fill:var(--ink);font-family:inherit}
.node rect{fill:var(--card);stroke:var(--soft);stroke-width:1.2}
.node.culprit>rect:first-of-type{stroke:var(--bad);stroke-width:2.4;fill:var(--bad-soft)}
.node.cell>rect:first-of-type{fill:var(--calm)}.node.missing>rect:first-of-type{stroke:var(--bad);stroke-dasharray:5 4}
.node.aside>rect:first-of-type{stroke:var(--line)}.node .title{font-size:15px;font-weight:650}
.node .line{font-size:12.5px;fill:var(--soft)}.node .mark{font-size:12px;font-weight:700;fill:var(--bad);text-anchor:end}
.node .stripe{stroke:none}a:hover .title{text-decoration:underline}
.edge{fill:none;stroke:var(--ink);stroke-width:1.6}.edge.aside{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 3}
.tip{fill:var(--ink)}.tip.aside{fill:var(--soft)}.label{font-size:12.5px}.label.why{fill:var(--warn)}.label.cycle{font-weight:650;fill:var(--bad)}
.k0{fill:var(--k0)!important}.k1{fill:var(--k1)!important}.k2{fill:var(--k2)!important}.k3{fill:var(--k3)!important}
.k4{fill:var(--k4)!important}.k5{fill:var(--k5)!important}.k6{fill:var(--k6)!important}.k7{fill:var(--k7)!important}
.f0{fill:var(--k0)}.f1{fill:var(--k1)}.f2{fill:var(--k2)}.f3{fill:var(--k3)}.f4{fill:var(--k4)}.f5{fill:var(--k5)}
.f6{fill:var(--k6)}.f7{fill:var(--k7)}
.time .tick{stroke:var(--line);stroke-width:1}.time .at{font-size:11.5px;fill:var(--soft);text-anchor:middle}
.time .head{font-size:12.5px;font-weight:650}.time .name{font-size:12.5px}
.time .lane{fill:var(--back)}.time .of-cell{fill:none;stroke:var(--line);stroke-dasharray:2 3}
.time .bar.last{stroke:var(--bad);stroke-width:2}.time .hatch{fill:var(--card);fill-opacity:.75}
.time .wait{fill:url(#hatch)}.time .need{font-size:12px;fill:var(--bad);text-anchor:end}.time .in-bar{font-size:12px;font-weight:600;fill:var(--card);pointer-events:none}
.time .sent{fill:var(--ink)}.time .arrow{stroke:var(--soft);stroke-width:1;fill:none;opacity:.75}
.time .arrow.lost{stroke:var(--bad);stroke-dasharray:4 3}.time .dot{fill:var(--good)}.time .square{fill:var(--warn)}
.time .cross{stroke:var(--bad);stroke-width:2.4;fill:none}
.legend i{display:inline-block;vertical-align:-2px;margin:0 3px 0 10px}.legend i:first-child{margin-left:0}
.legend b.cross{color:var(--bad);margin-left:10px}
.swatch{width:22px;height:12px;border-radius:2px;background:var(--k0)}
.swatch.of-wait{background:repeating-linear-gradient(45deg,var(--k0) 0 3px,var(--card) 3px 5px)}
.swatch.of-last{background:var(--k0);outline:2px solid var(--bad)}
i.dot{width:9px;height:9px;border-radius:50%;background:var(--good);vertical-align:0}
i.square{width:9px;height:9px;background:var(--warn);vertical-align:0}
.grid{margin:10px 0}.grid-rank{display:flex;gap:12px;align-items:flex-start;margin:5px 0}
.grid-name{flex:0 0 62px;font-size:13px;color:var(--soft)}.grid-cores{display:flex;flex-wrap:wrap;gap:4px 6px;padding-top:4px}
.cluster{display:inline-flex;gap:2px}
.core{display:block;width:10px;height:10px;border-radius:3px;background:var(--calm);border:1px solid var(--line)}
.legend .core{display:inline-block}
.core.runs{background:var(--run);border-color:var(--run)}.core.waits{background:var(--bad);border-color:var(--bad)}
.core.held{background:var(--warn);border-color:var(--warn)}.core.dead{background:var(--ink);border-color:var(--ink)}
.bar>span{display:block;height:100%;background:var(--run)}
span.bar{display:inline-block;width:54px;height:8px;border-radius:4px;background:var(--calm);overflow:hidden}
footer{color:var(--soft);font-size:13px;padding-bottom:34px}
@media (max-width:900px){.pair,.chain{grid-template-columns:1fr}.pair{gap:0}}
@media (max-width:560px){main,header.top,footer,nav div{padding-left:12px;padding-right:12px}
section,.verdict{padding:14px 14px;border-radius:8px}h1{font-size:24px}.lead{font-size:16px}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:6px}.grid-rank{display:block}
.stack thead{display:none}.stack tr,.stack td{display:block}.stack td{border:0;padding:2px 0}
.stack tr{padding:9px 0;border-bottom:1px solid var(--line)}}
@media print{nav,button{display:none}section,.verdict{break-inside:avoid-page}.scroll{overflow:visible}}
)css";

const char* const page_script =
    "(function(){'use strict';"
    "function show(){var to=document.getElementById(decodeURIComponent(location.hash.slice(1)));"
    "for(var at=to;at;at=at.parentElement)if(at.tagName==='DETAILS')at.open=true;if(to)to.scrollIntoView();}"
    "addEventListener('hashchange',show);if(location.hash)show();"
    "document.querySelectorAll('button[data-copy]').forEach(function(button){button.hidden=false;"
    "button.addEventListener('click',function(){var code=button.previousElementSibling;"
    "var range=document.createRange();range.selectNodeContents(code);var chosen=getSelection();"
    "chosen.removeAllRanges();chosen.addRange(range);"
    "if(document.execCommand('copy'))button.textContent='copied';});});"
    "document.documentElement.dataset.ready='1';})();";

const char* const page_script_hash = "sha256-Wntw/Kjjg+Fgd5s8gKjJfKMUwvG7DJTyDmn2imePtRo=";

}  // namespace heddle::doctor
