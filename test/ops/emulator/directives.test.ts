// The directive parser: which text is a directive, which stays text, and which step applies to which round.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type Step, selectStep } from '../../../ops/emulator/directive-steps.ts'
import { directiveNames, readDirectives } from '../../../ops/emulator/directives.ts'
import * as fc from '../../support/properties.ts'

function readStep(prompt: string): Step {
  const { steps } = readDirectives(prompt)
  return steps[0]!
}

t.test('a prompt without directives stays unchanged, except for white space at its ends', async t => {
  t.same(readDirectives('  Hello [there] [[wiki link]] '), {
    text: 'Hello [there] [[wiki link]]',
    steps: [{ calls: [], builtins: [] }]
  })
})

t.test('directives are removed from the text, and a prompt can have several', async t => {
  const { text, steps } = readDirectives('Say [[tick:200]]hello[[len:50]]')
  t.equal(text, 'Say hello')
  t.match(steps[0], { tickMs: 200, chunkCount: 50 })
})

t.test('an unknown directive or one with an invalid value stays in the text', async t => {
  for (const prompt of [
    '[[nonsense]]',
    '[[tick:soon]]',
    '[[tick]]',
    '[[tick:-1]]',
    '[[crlf:yes]]',
    '[[error:42]]',
    '[[toString]]'
  ]) {
    t.same(readDirectives(prompt), { text: prompt, steps: [{ calls: [], builtins: [] }] }, prompt)
  }
})

t.test('the JSON arguments of a tool directive can contain brackets', async t => {
  const step = readStep('[[tool:a {"x":[["]]"]],"y":"\\"]]"}]] and [[tool:b]] and [[tool:c{"z":1}]]')
  t.same(step.calls, [
    { name: 'a', arguments: { x: [[']]']], y: '"]]' } },
    { name: 'b', arguments: {} },
    { name: 'c', arguments: { z: 1 } }
  ])
})

t.test('arguments can be any JSON value; with broken JSON the text is no directive', async t => {
  t.same(readStep('[[tool:a "not json"]]').calls, [{ name: 'a', arguments: 'not json' }])
  t.same(readDirectives('[[tool:a {broken]]').text, '[[tool:a {broken]]')
})

t.test('a text ends at the first run of closing brackets or where its JSON string ends', async t => {
  t.equal(readStep('[[text:see [sources=[1]]]]').text, 'see [sources=[1]]')
  t.equal(readStep('[[text:"a]]b\\nc"]]').text, 'a]]b\nc')
  t.equal(readStep('[[text:"quoted" but not JSON]]').text, '"quoted" but not JSON')
  t.equal(readStep('[[text:<think>x</think>y]]').text, '<think>x</think>y')
  t.equal(readStep('[[text:]]').text, '')
})

t.test('chunks are separated by bars or given as a JSON array', async t => {
  t.same(readStep('[[chunks:a|b||c]]').chunks, ['a', 'b', '', 'c'])
  t.same(readStep('[[chunks:["a|b","]]"]]]').chunks, ['a|b', ']]'])
})

t.test('an error directive has a status, a retry value, a form and a message', async t => {
  t.same(readStep('[[error:429 retry=2]]').error, { status: 429, message: null, retryAfter: '2', isHtml: false })
  t.same(readStep('[[error:503 retry="Wed, 21 Oct 2026 07:28:00 GMT" html]]').error, {
    status: 503,
    message: null,
    retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT',
    isHtml: true
  })
  t.match(readStep('[[error:502]]').error, { isHtml: true })
  t.match(readStep('[[error:502 json]]').error, { isHtml: false })
  t.match(readStep('[[error:400 message=Bad retry=9 thing]]').error, { message: 'Bad retry=9 thing', retryAfter: null })
  t.same(readStep('[[flaky:2:503 retry=1]]').flaky, {
    times: 2,
    error: { status: 503, message: null, retryAfter: '1', isHtml: false }
  })
})

t.test('every other directive sets its member of the step', async t => {
  const prompt =
    '[[reason:think]][[usage:10,5,4]][[nousage]][[builtin:web_search fail censored]][[finish:blacklist]][[statekey:s_id]]' +
    '[[omit:created, usage]][[header:X-One=1]][[header:x-two=2 3]][[split]][[hang:2]][[die]][[argfrag]][[badjson:empty]]' +
    '[[errframe:429 message=slow down]][[ctype:text/html]][[created:alias]][[bigtext:100]]'
  t.match(readStep(prompt), {
    reasoning: 'think',
    usage: { input: 10, output: 5, cached: 4 },
    noUsage: true,
    builtins: [{ name: 'web_search', status: 'fail', isCensored: true }],
    finishReason: 'blacklist',
    stateIdKey: 's_id',
    omit: ['created', 'usage'],
    headers: { 'x-one': '1', 'x-two': '2 3' },
    bytesPerWrite: 1,
    hangAfterFrames: 2,
    breakAfterFrames: 'middle',
    argumentPieceLength: 4,
    badJson: 'empty',
    errorFrame: { status: 429, message: 'slow down' },
    contentType: 'text/html',
    createdForm: 'alias',
    bigTextBytes: 100
  })
})

t.test('a step applies to its round, and the last step to every later round', async t => {
  const { steps } = readDirectives('[[tool:a {}]][[step]][[tool:b {}]][[step]][[text:done]]')
  const select = (round: number) => selectStep({ steps, round, isParallel: false })
  t.match(select(0).calls, [{ name: 'a' }])
  t.match(select(1).calls, [{ name: 'b' }])
  t.equal(select(2).text, 'done')
  t.equal(select(3).text, 'done')
})

t.test('after its calls a prompt gets the default response in the same framing', async t => {
  const { steps } = readDirectives('[[tool:a {}]][[text:calling]][[tick:5]][[crlf]][[error:500]]')
  t.same(selectStep({ steps, round: 1, isParallel: false }), { calls: [], builtins: [], tickMs: 5, crlf: true })
})

t.test('several calls are in one round only when parallel calls are allowed', async t => {
  const { steps } = readDirectives('[[text:first]][[stringargs]][[tool:a {}]][[tool:b {}]]')
  t.equal(selectStep({ steps, round: 0, isParallel: true }).calls.length, 2)
  t.match(selectStep({ steps, round: 0, isParallel: false }), { text: 'first', calls: [{ name: 'a' }] })
  const second = selectStep({ steps, round: 1, isParallel: false })
  t.match(second, { stringArguments: true, calls: [{ name: 'b' }] })
  t.equal(second.text, undefined)
  t.same(selectStep({ steps, round: 2, isParallel: false }).calls, [])
})

t.test('any text can be given as a JSON string (property)', async t => {
  fc.assert(
    fc.property(fc.string({ unit: fc.anyCharacter }), text => {
      const { steps, text: rest } = readDirectives(`before [[text:${JSON.stringify(text)}]] after`)
      return steps[0]?.text === text && rest === 'before  after'
    })
  )
  t.pass()
})

t.test('any JSON object can be given as arguments (property)', async t => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), object => {
      const source = JSON.stringify(object)
      const step = readStep(`[[tool:f ${source}]]`)
      return JSON.stringify(step.calls[0]?.arguments) === JSON.stringify(JSON.parse(source))
    })
  )
  t.pass()
})

t.test('any prompt gives at least one step and no text longer than the prompt (property)', async t => {
  const piece = fc.constantFrom(
    '[[',
    ']]',
    '[',
    ']',
    'text:',
    'tool:',
    'a',
    '{',
    '}',
    '"',
    '\\',
    ':',
    ' ',
    'tick:5',
    'step'
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), pieces => {
      const prompt = pieces.join('')
      const { text, steps } = readDirectives(prompt)
      return steps.length > 0 && text.length <= prompt.length
    })
  )
  t.pass()
})

t.test('the tables of the README name every directive and no other', async t => {
  const readme = await readFile(join(import.meta.dirname, '../../../ops/emulator/README.md'), 'utf8')
  const table = readme.slice(readme.indexOf('## Directives'), readme.indexOf('## Control endpoint'))
  const rows = table.split('\n').filter(line => line.startsWith('| `[['))
  const documented = new Set(
    rows.flatMap(row => [...row.split(/(?<!\\)\|/)[1]!.matchAll(/\[\[([a-z0-9]+)/g)].map(match => match[1]!))
  )
  t.same([...documented].sort(), [...directiveNames].sort())
})
