import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { linkDependencies, packArtifact, unpackArtifact } from '../../../ops/sidecar/artifact.ts'
import { findNodeProblem } from '../../../supervisor/node-version.ts'
import { post } from '../../support/client.ts'
import { runClean } from '../../support/run-clean.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const root = join(import.meta.dirname, '../../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// Packing builds the checkout, so it is done once, and in no other test file.
const tarball = await packArtifact(root, createTemporaryFolder(t))

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

/** Starts the artifact with the embedded upstream, asks it once as a stream and once whole, and stops it; returns the exit code. */
async function serveOnce(
  t: Test,
  node: string,
  { entry, project }: { entry: string; project: string }
): Promise<number | null> {
  const gateway = spawn(node, [entry, '--demo', '--host', '127.0.0.1', '--port', '0', '--workers', '1'], {
    cwd: project,
    env: { PATH: process.env.PATH, GATEWAY_TRAFFIC_LOG_ENABLED: 'true', GATEWAY_TRAFFIC_LOG_SINK: 'sqlite' },
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
  const chat = { model: 'GigaChat-2', messages: [{ role: 'user', content: '[[text:packed]]' }] }
  const response = await post(`${url}/v1/chat/completions`, chat)
  t.equal(response.json.choices[0].message.content, 'packed')
  const streamed = await post(`${url}/v1/chat/completions`, { ...chat, stream: true })
  t.ok(streamed.text.includes('data: [DONE]'))
  gateway.kill('SIGTERM')
  await exited
  return gateway.exitCode
}

t.test('the packed artifact runs from node_modules of an empty project', async t => {
  const project = createTemporaryFolder(t)
  const { stdout } = await execa('tar', ['-tzf', tarball])
  const files = stdout.split('\n').map(path => path.replace(/^package\//, ''))
  t.ok(files.length > 100)
  for (const path of files) t.notMatch(path, /(?<!\.d)\.ts$|^test|\.env|\.log$/, `${path} belongs into the artifact`)

  const artifact = await unpackArtifact(tarball, project)
  const { entry } = artifact
  const packageFile = join(artifact.folder, 'package.json')
  const packageText = readFileSync(packageFile, 'utf8')
  const { engines } = JSON.parse(packageText)

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

  linkDependencies(artifact, project, root)
  t.match(readFileSync(entry, 'utf8'), /^#!\/usr\/bin\/env node\n/)
  t.equal((await execa(process.execPath, [entry, '--version'])).stdout, version)

  t.equal(await serveOnce(t, process.execPath, { entry, project }), 0)
})

t.test('a program imports the gateway from the installed package, types included', async t => {
  const project = createTemporaryFolder(t)
  linkDependencies(await unpackArtifact(tarball, project), project, root)
  writeFileSync(
    join(project, 'program.mts'),
    `import { startGateway, GatewayStartError, type RunningGateway } from 'llm-sidecar-gateway'
     const gateway: RunningGateway = await startGateway({ args: ['--demo'], signal: AbortSignal.timeout(60_000) })
     const { status } = await fetch(gateway.url + '/health')
     const code: number | null = await gateway.stop()
     const failed: unknown = await startGateway({ env: { GATEWAY_PORT: 'none' } }).catch((error: unknown) => error)
     console.log(status, code, failed instanceof GatewayStartError && failed.exitCode)`
  )
  const { stdout } = await runClean([process.execPath, 'program.mts'], { cwd: project })
  t.equal(stdout, '200 0 2')

  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', '--typeRoots']
  const types = join(root, 'node_modules/@types')
  const checked = await runClean([process.execPath, compiler, ...flags, types, 'program.mts'], { cwd: project })
  t.match(checked, { exitCode: 0, stdout: '' })
})

t.test('npm finds the command of the installed package', async t => {
  const project = createTemporaryFolder(t)
  linkDependencies(await unpackArtifact(tarball, project), project, root)
  await runClean(['npm', 'rebuild', '--offline', '--ignore-scripts', 'llm-sidecar-gateway'], { cwd: project })
  const { stdout } = await runClean([join(project, 'node_modules/.bin/llm-gateway'), '--version'], { cwd: project })
  t.equal(stdout, version)
})

const sidecar = (args: readonly string[]) =>
  runClean([process.execPath, join(root, 'ops/sidecar/main.ts'), ...args], { cwd: root })

t.test('the start-up sequence of a supervisor holds against the packed artifact', async t => {
  const { exitCode, stdout } = await sidecar(['--artifact', tarball])
  t.equal(exitCode, 0, String(stdout))
  const steps = String(stdout)
    .split('\n')
    .map(line => line.split(/\s+/).slice(0, 2).join(' '))
  const names = ['install', 'profile', 'preflight', 'health', 'ready', 'models', 'capabilities', 'traffic', 'docs']
  t.strictSame(
    steps,
    [...names, 'stop', 'secrets'].map(name => `ok ${name}`)
  )
})

t.test('a step that does not hold ends the sequence with its name and reason', async t => {
  const config = join(createTemporaryFolder(t), 'profile.json')
  writeFileSync(config, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles: [] }))
  const { exitCode, stdout } = await sidecar(['--artifact', tarball, '--config', config, '--model', 'a'])
  t.equal(exitCode, 1)
  t.match(stdout, /^FAILED {4}preflight: exit code 2, invalid_profile_schema$/m)
  t.notMatch(stdout, /^ok +health/m)

  const wrong = await sidecar(['--config', config])
  t.equal(wrong.exitCode, 2)
  t.match(wrong.stderr, /--config and --model belong together/)
})
