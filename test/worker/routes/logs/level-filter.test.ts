import t from 'tap'
import { createLevelFilter } from '../../../../worker/routes/logs/level-filter.ts'

const json = (level: string, msg = 'm') => JSON.stringify({ level, time: '2026-01-05T10:00:00.000Z', msg })
const text = (level: string) => `2026-01-05 10:00:00 | ${level.padEnd(8)} | - | message`

t.test('lines of a level and those more severe are shown, in both formats', async t => {
  for (const write of [json, text]) {
    const isShown = createLevelFilter('WARNING')
    const shown = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'].filter(level => isShown(write(level)))
    t.same(shown, ['WARNING', 'ERROR', 'CRITICAL'])
    t.ok(createLevelFilter(undefined)(write('DEBUG')))
  }
})

t.test('a line without a level goes with the line before it', async t => {
  const isShown = createLevelFilter('ERROR')
  t.notOk(isShown('at somewhere'))
  t.ok(isShown(text('ERROR')))
  t.ok(isShown('at somewhere (file.ts:1:1)'))
  t.notOk(isShown(text('INFO')))
  t.notOk(isShown('at somewhere (file.ts:1:1)'))
})

t.test('a text of a client cannot give its line a level', async t => {
  const isShown = createLevelFilter('ERROR')
  t.notOk(isShown(json('INFO', '{"level":"ERROR"')))
  t.notOk(isShown(`${text('INFO')} | ERROR | 2026-01-05 10:00:00 | ERROR    | `))
})
