import { existsSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

/** Compiled modules below a folder for temporary files. */
function listCompiled(folder: string): string[] {
  return globSync('llm-gateway-compile-cache-*/**/*', { cwd: folder })
}

t.test(
  'a start keeps its compiled code for the next one, unless the operator says where or switches it off',
  async t => {
    const emulator = await startEmulator(t)
    async function runOnce(env: Record<string, string | undefined>): Promise<void> {
      const gateway = await startGateway(t, {
        env: { ...emulatorVariables(emulator), NODE_COMPILE_CACHE: undefined, ...env }
      })
      t.equal(await gateway.stop(), 0)
    }
    const folder = createTemporaryFolder(t)
    await runOnce({ TMPDIR: folder })
    const compiled = listCompiled(folder)
    // The supervisor alone loads fewer modules.
    t.ok(compiled.length > 300, `${compiled.length} files`)

    const chosen = join(createTemporaryFolder(t), 'chosen')
    const unused = createTemporaryFolder(t)
    await runOnce({ TMPDIR: unused, NODE_COMPILE_CACHE: chosen })
    t.ok(existsSync(chosen))
    await runOnce({ TMPDIR: unused, NODE_DISABLE_COMPILE_CACHE: '1' })
    t.same(listCompiled(unused), [])
  }
)

t.test('a gateway that can write no folder starts without a word', async t => {
  const emulator = await startEmulator(t)
  const file = join(createTemporaryFolder(t), 'file')
  writeFileSync(file, '')
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), NODE_COMPILE_CACHE: undefined, TMPDIR: file }
  })
  t.equal((await fetch(`${gateway.url}/health`)).status, 200)
  t.equal(await gateway.stop(), 0)
})
