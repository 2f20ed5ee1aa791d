// Bodies without optional members that a provider refuses (decisions.md 79).
import t from 'tap'
import type { OptionalMember } from '../../../../../worker/protocols/shared/members/member-complaints.ts'
import { withoutMembers } from '../../../../../worker/protocols/shared/members/optional-members.ts'

function change(text: string, ...members: OptionalMember[]): string | undefined {
  return withoutMembers(Buffer.from(text), new Set(members), true)?.bytes.toString()
}

t.test('a member is left out of the bytes, and everything else stays', async t => {
  const cases: ReadonlyArray<readonly [string, OptionalMember | OptionalMember[], string | undefined]> = [
    [
      '{ "a" : 1e2, "metadata":{"b":[1]} , "n":12345678901234567890}',
      'metadata',
      '{ "a" : 1e2 , "n":12345678901234567890}'
    ],
    ['{"metadata":1,"service_tier":"x"}', ['metadata', 'service_tier'], '{}'],
    ['{"metadata":null}', 'metadata', undefined],
    ['{"messages":[{"metadata":1}]}', 'metadata', undefined],
    ['{"max_tokens":5,"a":1}', 'max_tokens', '{"max_completion_tokens":5,"a":1}'],
    ['{"max_tokens":5,"max_completion_tokens":6}', 'max_tokens', '{"max_completion_tokens":6}'],
    ['{"max_completion_tokens":6}', 'max_tokens', undefined],
    ['{"temperature":0.5,"top_p":0.9}', 'temperature_with_top_p', '{"temperature":0.5}'],
    ['{"temperature":1,"top_p":0.9}', 'temperature_with_top_p', '{"top_p":0.9}'],
    ['{"temperature":0.5,"top_p":0.9}', 'temperature', '{"top_p":0.9}'],
    ['{"temperature":0.5,"top_p":0.9}', 'top_p', '{"temperature":0.5}'],
    ['{"temperature":0.5}', 'temperature', undefined],
    ['{"top_p":0.5}', 'temperature_with_top_p', undefined],
    ['{"reasoning_effort":"low"}', 'reasoning_effort', '{}'],
    ['{"reasoning":{"effort":"low","summary":"auto"}}', 'reasoning_effort', '{"reasoning":{"summary":"auto"}}'],
    ['{"output_config":{"effort":"low"}}', 'output_config', '{}'],
    ['{"output_config":{"effort":"low"}}', 'effort', '{}'],
    ['{"output_config":{"effort":"low","format":{}}}', 'effort', '{"output_config":{"format":{}}}'],
    ['{"output_config":{"effort":"low","format":{}}}', 'output_config', undefined],
    ['{"output_config":{"format":{}}}', 'output_config', undefined],
    [
      '{"tools":[{"function":{"name":"f","strict":true}},{"name":"g","strict":true,"x":1},{"name":"h"}],"response_format":{"json_schema":{"strict":true,"schema":{"strict":1}}},"text":{"format":{"strict":false}}}',
      'strict',
      '{"tools":[{"function":{"name":"f"}},{"name":"g","x":1},{"name":"h"}],"response_format":{"json_schema":{"schema":{"strict":1}}},"text":{"format":{}}}'
    ]
  ]
  for (const [body, members, expected] of cases) t.equal(change(body, ...[members].flat()), expected, body)
})

t.test('a body that is no object, or has a name twice, is not changed in its bytes', async t => {
  for (const body of ['', '[]', '"metadata"', '{"metadata":']) t.equal(change(body, 'metadata'), undefined, body)
  t.equal(change('{"a":1,"metadata":1,"a":2}', 'metadata'), '{"a":2}')
})

t.test('the output limit has one name on other wires', async t => {
  t.equal(withoutMembers(Buffer.from('{"max_tokens":5}'), new Set(['max_tokens']), false), undefined)
})
