// What a window leaves behind an input whose tokenizer is unknown (decisions.md 73).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { estimateInputTokens, measureInput } from '../../../worker/bridge/input-size.ts'
import { findOutputMax } from '../../../worker/bridge/output-limit.ts'
import type { ContentPart, NormalizedRequest } from '../../../worker/normalized/index.ts'
import { loadTokenizer } from '../../../worker/translation/tokenizers.ts'

function requestOf(content: ContentPart[], maxOutputTokens?: number): NormalizedRequest {
  return {
    version: 'normalized/v1',
    requestId: 'r',
    fieldPaths: { messages: 'messages', maxOutputTokens: 'max_tokens' },
    messages: [{ role: 'user', content }],
    tools: [],
    sampling: maxOutputTokens === undefined ? {} : { maxOutputTokens }
  } as unknown as NormalizedRequest
}

const textRequest = (text: string, limit?: number) => requestOf([{ type: 'text', text }], limit)

const SAMPLES: Record<string, string> = {
  English:
    'The gateway translates each request into the wire of its provider; what cannot be carried is left out with a notice. ',
  Russian:
    'Шлюз переводит каждый запрос в формат поставщика, а то, что нельзя передать, опускается с уведомлением о названии поля. ',
  Greek: 'Η πύλη μεταφράζει κάθε αίτημα στη μορφή του παρόχου και ό,τι δεν μπορεί να μεταφερθεί παραλείπεται. ',
  Arabic: 'تترجم البوابة كل طلب إلى صيغة المزود وما لا يمكن نقله يترك مع إشعار يذكر الحقل. ',
  Hindi: 'गेटवे हर अनुरोध को प्रदाता के प्रारूप में बदलता है और जो नहीं भेजा जा सकता उसे छोड़ दिया जाता है। ',
  Thai: 'เกตเวย์แปลคำขอแต่ละรายการเป็นรูปแบบของผู้ให้บริการ และสิ่งที่ส่งไม่ได้จะถูกละไว้พร้อมการแจ้งเตือน ',
  Chinese: '网关把每个请求转换成提供商的格式,不能传送的内容会被省略,并在通知中说明字段的名称。',
  Japanese: 'ゲートウェイは各リクエストをプロバイダの形式に変換し、送信できないものは通知とともに省略されます。',
  Korean: '게이트웨이는 각 요청을 공급자의 형식으로 변환하며 전달할 수 없는 것은 알림과 함께 생략됩니다. ',
  code: readFileSync(join(import.meta.dirname, '../../../worker/bridge/admit.ts'), 'utf8'),
  'code far to the right': `${' '.repeat(40)}return value\n`
}

t.test('the tokens of a text lie between both estimates, in every script', async t => {
  const tokenizer = await loadTokenizer('unknown', 'o200k_base')
  for (const [name, sample] of Object.entries(SAMPLES)) {
    const text = sample.repeat(20)
    const tokens = tokenizer.countTokens(text, { disallowedSpecial: new Set() })
    const { least, likely } = estimateInputTokens(measureInput(textRequest(text)))
    t.ok(least <= tokens, `${name}: ${least} <= ${tokens}`)
    t.ok(likely >= tokens, `${name}: ${likely} >= ${tokens}`)
    t.ok(likely <= 6 * tokens, `${name}: ${likely} is not far from ${tokens}`)
  }
})

t.test('everything that the model reads is counted', async t => {
  const request = requestOf([
    { type: 'text', text: 'ab' },
    { type: 'reasoning', text: 'cé' },
    { type: 'tool-call', id: '1', name: 'f', arguments: { a: 1 } } as unknown as ContentPart,
    { type: 'tool-call', id: '2', name: 'f', arguments: {}, argumentsText: '{"a"' } as unknown as ContentPart,
    { type: 'tool-result', callId: '1', content: [{ type: 'text', text: '  \n 中文' }] } as unknown as ContentPart,
    { type: 'image', source: { kind: 'url', url: 'https://a.example/a.png' }, path: 'p' }
  ])
  t.strictSame(measureInput(request), {
    ascii: 'abcf{"a":1}f{"a" '.length,
    letters: 1,
    ideographs: 2,
    repeatedBlanks: 3,
    mediaCount: 1
  })
  const tool = { type: 'function', name: 'n', description: 'dd', parameters: {} } as const
  const output = { type: 'json-schema', name: 'o', schema: { type: 'object' } } as const
  const declared = { ...requestOf([]), tools: [tool], output } as unknown as NormalizedRequest
  t.equal(measureInput(declared).ascii, 'ndd{}{"type":"object"}'.length)
})

t.test('an output is bounded by what the window leaves, and refused only where nothing is left', async t => {
  const bounds = { outputTokensMax: 4000, contextWindow: 10_000 }
  t.equal(findOutputMax(textRequest('hi'), bounds), 4000)
  t.equal(findOutputMax(textRequest('a'.repeat(28_000)), bounds), 2000)
  t.equal(findOutputMax(textRequest('a'.repeat(28_000), 1000), bounds), 4000, 'a smaller wish has room')
  t.equal(findOutputMax(textRequest('a'.repeat(40_000)), bounds), 256, 'perhaps there is room')
  t.throws(() => findOutputMax(textRequest('a'.repeat(60_000)), bounds), {
    code: 'context_length_exceeded',
    param: 'messages',
    message: 'prompt is too long: 10000 tokens > 9744 maximum. The context window of this model has 10000 tokens.'
  })
  t.throws(() => findOutputMax(textRequest('文'.repeat(25_000)), bounds), { code: 'context_length_exceeded' })
  // Twice as many bytes as characters: the tokens are about the same.
  t.equal(findOutputMax(textRequest('я'.repeat(20_000)), bounds), 2000)
  t.equal(findOutputMax(textRequest('я'.repeat(50_000)), bounds), 256)
  t.equal(findOutputMax(textRequest('a'.repeat(60_000)), bounds, 5000), 4000, 'a short body is not measured')
})
