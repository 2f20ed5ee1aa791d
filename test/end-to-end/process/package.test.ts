import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { findNodeProblem } from '../../../supervisor/node-version.ts'
import { post } from '../../support/client.ts'
import { runClean } from '../../support/processes.ts'

const root = join(import.meta.dirname, '../../..')
const { name, version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Installed versions of Node that are too old for the gateway; there may be none. */
async function findOldNodes(required: string): Promise<Array<{ node: string; version: string }>> {
  const folders = new Set((process.env.PATH ?? '').split(delimiter))
  const found = await Promise.all(
    [...folders].map(async folder => {
      const node = join(folder, 'node')
      const { stdout } = await execa(node, ['--version'], { reject: false, extendEnv: false })
      return { node, version: String(stdout).slice(1) }
    })
  )
  return found.filter(({ version }) => version !== '' && findNodeProblem(version, required) !== undefined)
}

t.test('the packed artifact runs from node_modules of an empty project', async t => {
  const project = mkdtempSync(join(tmpdir(), 'gateway-package-'))
  t.teardown(() => rmSync(project, { recursive: true, force: true }))
  const { stdout, stderr } = await runClean(['npm', 'pack', '--json', '--pack-destination', project], { cwd: root })
  t.match(stdout, /"filename"/, stderr)
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[')))
  for (const { path } of files) t.notMatch(path, /\.ts$|^test|\.env|\.log$/, `${path} belongs into the artifact`)

  const installed = join(project, 'node_modules', name)
  mkdirSync(installed, { recursive: true })
  await execa('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1'])
  const packageFile = join(installed, 'package.json')
  const packageText = readFileSync(packageFile, 'utf8')
  const { bin, engines } = JSON.parse(packageText)
  const entry = join(installed, bin[name])

  // Without its dependencies only the entry can be loaded, so the version must be checked before the other imports.
  writeFileSync(packageFile, packageText.replace(engines.node, '>=999.1'))
  const refused = await execa(process.execPath, [entry, '--help'], { reject: false })
  t.match(refused, { exitCode: 2, stdout: '' })
  t.equal(
    refused.stderr,
    `llm-gateway: unsupported_node: Node 999.1 or later is needed; this is Node ${process.versions.node}`
  )
  writeFileSync(packageFile, packageText)
  for (const { node, version: old } of await findOldNodes(engines.node)) {
    const { exitCode, stderr: line } = await execa(node, [entry], { reject: false, extendEnv: false })
    t.equal(exitCode, 2, `under Node ${old}`)
    t.equal(line, `llm-gateway: ${findNodeProblem(old, engines.node)}`)
  }

  // Links the dependencies that `npm install` would install, without a registry.
  for (const dependency of Object.keys(dependencies)) {
    const link = join(project, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', dependency), link)
  }

  t.match(readFileSync(entry, 'utf8'), /^#!\/usr\/bin\/env node\n/)
  t.equal((await execa(process.execPath, [entry, '--version'])).stdout, version)

  const gateway = spawn(process.execPath, [entry, '--demo', '--host', '127.0.0.1', '--port', '0', '--workers', '1'], {
    cwd: project,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const exited = once(gateway, 'exit')
  t.teardown(() => gateway.kill('SIGTERM'))
  let url: string | undefined
  for (let output = ''; url === undefined; ) {
    const [chunk] = await once(gateway.stdout, 'data')
    output += String(chunk)
    url = /listens on\s+(http:\S+)/.exec(output)?.[1]
  }
  const response = await post(`${url}/v1/chat/completions`, {
    model: 'GigaChat-2',
    messages: [{ role: 'user', content: '[[text:packed]]' }]
  })
  t.equal(response.json.choices[0].message.content, 'packed')
  gateway.kill('SIGTERM')
  await exited
  t.equal(gateway.exitCode, 0)
})
