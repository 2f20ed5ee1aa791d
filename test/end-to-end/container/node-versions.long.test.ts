// The artifact on each Node that the project supports: installed from its tarball into an empty project, and in the container, whose
// packages are installed by the command of the Dockerfile. The tarball is packed from what its first stage builds.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { unpackArtifact } from '../../../ops/sidecar/artifact.ts'
import { get } from '../../support/client.ts'
import { assembleLastStage, installStages } from '../../support/container/image.ts'
import { runContainer, whyWithoutContainers } from '../../support/container/run.ts'
import { waitUntil } from '../../support/processes.ts'
import { runClean } from '../../support/run-clean.ts'
import { emulatorVariables, findListeningUrl, startEmulator } from '../../support/serving-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { askIn, families, readEnd, textIn } from '../system/support.ts'

// Installing the packages and three versions of Node is most of it.
t.setTimeout(900_000)
const KEY = 'a-key-of-more-than-sixteen-characters'
/** The lowest of `engines`, the long-term support before the default, and the default. */
const VERSIONS = ['22.19.0', '24', '26']

/** The program of a Node of the package registry; undefined where there is no registry. */
async function installNode(version: string): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath
  const folder = createTemporaryFolder(t)
  // The package of Node places its program with a script.
  writeFileSync(join(folder, 'package.json'), '{"private":true,"allowScripts":{"node":true}}')
  const { exitCode } = await runClean(['npm', 'install', '--no-audit', '--no-fund', `node@${version}`], { cwd: folder })
  return exitCode === 0 ? join(folder, 'node_modules/node/bin/node') : undefined
}

const nodes = new Map<string, string>()
for (const version of VERSIONS) {
  const node = await installNode(version)
  if (node !== undefined) nodes.set(version, node)
}
const isWithoutRegistry = nodes.size === VERSIONS.length ? false : 'the package registry cannot be asked'

/** Installed packages, what the build stage makes, its tarball, and a project that has installed that. */
async function build() {
  const stages = installStages(createTemporaryFolder(t))
  const folder = createTemporaryFolder(t)
  const { build = '' } = stages
  const packed = await runClean(['npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: build
  })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  const tarball = join(folder, filename)
  const project = createTemporaryFolder(t)
  const installed = await runClean(['npm', 'install', '--no-audit', '--no-fund', tarball], { cwd: project })
  t.equal(installed.exitCode, 0, installed.stderr)
  return { stages, tarball, project }
}

const built = isWithoutRegistry === false ? await build() : undefined

/** Asks each family once whole and once as a stream. */
async function serves(t: Test, gateway: { url: string }, headers: Record<string, string> = {}): Promise<void> {
  for (const family of families) {
    const whole = await askIn(gateway, family, '[[text:from the artifact]]', { headers })
    t.equal(whole.status, 200, family)
    t.equal(textIn(family, whole), 'from the artifact', family)
    const stream = await askIn(gateway, family, '[[text:from the artifact]]', { headers, stream: true })
    t.equal(readEnd(family, stream.text), 'success', family)
  }
  await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the gateway is ready')
}

t.test('what the image has is what is packed', { skip: isWithoutRegistry }, async t => {
  if (built === undefined) return
  const { folder } = await unpackArtifact(built.tarball, createTemporaryFolder(t))
  const listOf = (parent: string) =>
    globSync('dist/**', { cwd: parent, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name).slice(parent.length))
      .toSorted()
  const stage = built.stages.build ?? ''
  const files = listOf(stage)
  t.ok(files.length > 100)
  t.strictSame(listOf(folder), files)
  for (const file of files) t.ok(readFileSync(join(folder, file)).equals(readFileSync(join(stage, file))), file)
})

for (const version of VERSIONS) {
  t.test(`Node ${version}: installed into an empty project`, { skip: isWithoutRegistry }, async t => {
    const node = nodes.get(version)
    if (built === undefined || node === undefined) return
    t.match((await execa(node, ['--version'], { extendEnv: false })).stdout, `v${version}`)
    const command = join(built.project, 'node_modules/.bin/llm-gateway')
    const gateway = spawn(node, [command, '--demo', '--host', '127.0.0.1', '--port', '0', '--workers', '1'], {
      cwd: built.project,
      env: { PATH: process.env.PATH, GATEWAY_TRAFFIC_LOG_ENABLED: 'true', GATEWAY_TRAFFIC_LOG_SINK: 'sqlite' },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    const exited = once(gateway, 'exit')
    t.teardown(() => gateway.kill('SIGTERM'))
    let output = ''
    while (findListeningUrl(output) === undefined) output += String((await once(gateway.stdout, 'data'))[0])
    await serves(t, { url: findListeningUrl(output) ?? '' })
    gateway.kill('SIGTERM')
    await exited
    t.equal(gateway.exitCode, 0)
  })

  const skip = isWithoutRegistry || whyWithoutContainers()
  t.test(`Node ${version}: the packed files in the container, without root, its root read-only`, { skip }, async t => {
    const node = nodes.get(version)
    if (built === undefined || node === undefined) return
    const folder = createTemporaryFolder(t)
    const { folder: artifact } = await unpackArtifact(built.tarball, folder)
    const image = assembleLastStage({ ...built.stages, build: artifact }, join(folder, 'root'), node)
    const inside = await execa(join(image.folder, 'usr/local/bin/node'), ['--version'], { extendEnv: false })
    t.match(inside.stdout, `v${version}`)
    const emulator = await startEmulator(t)
    const container = await runContainer(t, image, {
      environment: {
        ...emulatorVariables(emulator),
        // The upstream of the test has no TLS.
        GATEWAY_ALLOW_INSECURE_PROD: 'true',
        GATEWAY_API_KEY: KEY,
        // The health check asks there.
        GATEWAY_PORT: String(await findFreePort()),
        GATEWAY_WORKERS: '1',
        GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
        GATEWAY_TRAFFIC_LOG_SINK: 'sqlite'
      }
    })
    await serves(t, container, { authorization: `Bearer ${KEY}` })
    for (const { pid } of container.processes()) {
      t.match(
        readFileSync(`/proc/${pid}/status`, 'utf8'),
        new RegExp(`^Uid:\\s+${image.user}\\s+${image.user}\\s`, 'm')
      )
      t.throws(() => writeFileSync(`/proc/${pid}/root/app/x`, ''), { code: 'EROFS' })
    }
    t.equal(await container.checkHealth(), 0)
    t.equal(await container.stop(), 0)
  })
}
