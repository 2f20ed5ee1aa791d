// What every test keeps to.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')

t.test('a test that makes a temporary folder removes it', async t => {
  const makers = globSync('test/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] }).filter(file => {
    const source = readFileSync(join(root, file), 'utf8')
    return /\bmkdtemp(?:Sync)?\(/.test(source) && !/\brm(?:Sync)?\(/.test(source)
  })
  t.strictSame(makers, [])
})

t.test('no test asserts on elapsed time', async t => {
  const clock = /\bt\.(?:ok|equal|not|match)\(.*(?:performance\.now\(\)|hrtime|elapsed|Date\.now\(\) - )/i
  const asserting = globSync('test/**/*.{test,cases}.ts', { cwd: root, exclude: ['**/node_modules/**'] }).filter(file =>
    clock.test(readFileSync(join(root, file), 'utf8'))
  )
  t.strictSame(asserting, [])
})
