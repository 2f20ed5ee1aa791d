import t from 'tap'
import { createNotices } from '../../../worker/execution/notice.ts'
import type { RequestContext } from '../../../worker/http/request-context.ts'
import { showFields } from '../../../worker/protocols/shared/members/shown-fields.ts'

const isMember = (path: string) => !path.startsWith('x_')

t.test(
  'a field of the protocol is named as it is, another one by its name only where that is safe (decisions.md 70)',
  async t => {
    const long = `messages[0].${'content'.repeat(20)}`
    t.strictSame(showFields(['tools[8]', 'x_mine', long], isMember), ['tools[8]', 'x_mine', long])
    const hostile = [`x_${'a'.repeat(63)}`, 'x_a\r\nset-cookie: b', 'x_é', 'x_a b', 'x_']
    t.strictSame(showFields(hostile, isMember), ['?', 'x_'])
    t.strictSame(showFields(['a\nb'], isMember), ['?'], 'not even the protocol breaks a header')
  }
)

t.test('one line for each alias and member, and one for all foreign names (decisions.md 70)', async t => {
  const lines: unknown[] = []
  const left: Array<readonly string[]> = []
  const log = { info: ({ alias, field }: { alias: string; field: string }) => lines.push(`${alias} ${field}`) }
  const context = { logIds: {}, leaveOut: (names: readonly string[]) => left.push(names) } as unknown as RequestContext
  const notices = createNotices(log as unknown as Parameters<typeof createNotices>[0], isMember)
  notices.note(context, 'a/1', ['tools[1]', 'tools[2]', 'top_k', 'x_a', 'x_b'])
  notices.note(context, 'a/1', ['tools[3]', 'top_k', 'x_c'])
  notices.note(context, 'a/2', ['top_k'])
  notices.note(context, 'a/2', [])
  t.strictSame(lines, ['a/1 tools[]', 'a/1 top_k', 'a/1 ?', 'a/2 top_k'])
  t.strictSame(left, [['tools[1]', 'tools[2]', 'top_k', 'x_a', 'x_b'], ['tools[3]', 'top_k', 'x_c'], ['top_k']])
})
