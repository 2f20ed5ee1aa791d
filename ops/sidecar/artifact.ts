// The packed artifact as an operator has it: packed from a checkout, and laid into the node_modules of a folder of its own.

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const PACKAGE_NAME = 'llm-sidecar-gateway'
const COMMAND = 'llm-gateway'

export interface Artifact {
  version: string
  /** The file to run with Node. */
  entry: string
  /** The folder of the installed package. */
  folder: string
}

/** Packs the checkout into a tarball inside `folder`; returns its path. */
export async function packArtifact(checkout: string, folder: string): Promise<string> {
  // Hooks that a test runner puts into the environment of every child do not belong into a build, so `env` removes them.
  const command = ['-u', 'NODE_OPTIONS', 'npm', 'pack', '--json', '--pack-destination', folder]
  const { stdout } = await run('env', command, { cwd: checkout })
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }]
  return join(folder, filename)
}

/** Unpacks a tarball into `folder/node_modules`, without its dependencies. Rejects when it cannot be read. */
export async function unpackArtifact(tarball: string, folder: string): Promise<Artifact> {
  const installed = join(folder, 'node_modules', PACKAGE_NAME)
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  const { version, bin } = readPackage(installed)
  return { version, entry: join(installed, bin[COMMAND] ?? ''), folder: installed }
}

/** Links the dependencies of an unpacked artifact into `folder/node_modules`: those of the checkout, so that no registry is needed. */
export function linkDependencies({ folder: installed }: Artifact, folder: string, checkout: string): void {
  for (const dependency of Object.keys(readPackage(installed).dependencies)) {
    const link = join(folder, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(checkout, 'node_modules', dependency), link)
  }
}

interface PackageFile {
  version: string
  bin: Record<string, string>
  dependencies: Record<string, string>
}

function readPackage(folder: string): PackageFile {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
