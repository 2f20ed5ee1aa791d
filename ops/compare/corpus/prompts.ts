// Every way in which the emulator writes a response, or fails to, in every family and form.

import type { CompareCase } from '../types.ts'
import { createCase, forms, nameForm, writeChat, writePrompt } from './families.ts'

const texts = [
  'Hello!',
  'Привет, мир 🌍 — «кавычки» \u2028 \\ " \u0001',
  '[[text:]]',
  '[[text:One line.\\nTwo lines.]]',
  '[[chunks:a|b|c|🌍|конец]]',
  '[[len:40]]',
  '[[bigtext:70000]]',
  '[[text:<think>because</think>done]]',
  '[[chunks:<thi|nk>beca|use</th|ink>done]]',
  '[[reason:]]',
  '[[reason:because of this]][[text:done]]',
  '[[finish:length]]',
  '[[finish:blacklist]]',
  '[[finish:error]]',
  '[[finish:something_new]]',
  '[[usage:11,22,3]]',
  '[[nousage]]',
  '[[norole]]',
  '[[created:string]]',
  '[[created:alias]]',
  '[[omit:model,created,object]]',
  '[[omit:usage]]',
  '[[extra]]'
]

const wires = [
  '[[split:3]][[text:Разрез]]',
  '[[crlf]]',
  '[[ping]]',
  '[[noname]]',
  '[[nospace]]',
  '[[multiline]]',
  '[[done]]',
  '[[gzip]]',
  '[[header:x-session-id=s-1]]',
  '[[header:x-custom=c]]'
]

const failures = [
  ...[400, 401, 402, 403, 404, 409, 413, 415, 422, 429, 500, 501, 502, 503, 504, 418].map(
    status => `[[error:${status}]]`
  ),
  '[[error:429 retry=3]]',
  '[[error:429 retry="Wed, 21 Oct 2065 07:28:00 GMT"]]',
  '[[error:500 html]]',
  '[[error:502 json message=bad gateway]]',
  '[[error:400 message=the field temperature is wrong]]',
  '[[error:422 message=messages[0]: invalid role]]',
  '[[flaky:1:500]]',
  '[[die]]',
  '[[die:0]]',
  '[[die:2]]',
  '[[noeof]]',
  '[[nodone]]',
  '[[badframe]]',
  '[[errframe]]',
  '[[errframe:429 message=slow down]]',
  '[[badjson]]',
  '[[badjson:empty]]',
  '[[badjson:array]]',
  '[[badjson:null]]',
  '[[badjson:object]]',
  '[[badjson:html]]',
  '[[badjson:{"choices":[]}]]',
  '[[ctype:text/html]]',
  '[[ctype:text/plain]]'
]

export function createPromptCases(): CompareCase[] {
  return forms.flatMap(form =>
    [...texts, ...wires, ...failures].map(text =>
      createCase(`prompt ${nameForm(form)} ${text}`, writeChat(form, writePrompt(form.family, text)))
    )
  )
}
