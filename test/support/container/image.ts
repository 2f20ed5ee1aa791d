// Assembles the file system of the container in a folder, without a container engine: the instructions of the Dockerfile are followed as they
// stand, so that it and what is tested cannot differ. Installing takes most of the time, so most tests link what the checkout has installed.

import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Instruction, readDockerfile, readExecForm, readPairs, type Stage } from './dockerfile.ts'

const root = join(import.meta.dirname, '../../..')
export const DOCKERFILE = join(root, 'ops/container/Dockerfile')
/** Where the base image has it. */
const NODE = 'usr/local/bin/node'
/** Of the stages before the last one. */
const WORKING_FOLDER = '/build'

export interface Image {
  /** The root of the file system. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  readonly user: number
  readonly group: number
  readonly workingFolder: string
  readonly volumes: readonly string[]
  readonly ports: readonly number[]
  readonly entrypoint: readonly string[]
  readonly healthCheck: readonly string[]
  readonly labels: Readonly<Record<string, string>>
}

/** The working folders of the stages before the last one, by name. */
export type StageFolders = Readonly<Record<string, string>>

/** Builds the product in a copy and assembles the image below `folder`, with the packages that the checkout has installed. */
export function assembleImage(folder: string): Image {
  return assembleLastStage(playStages(folder, linkInstalled), join(folder, 'root'))
}

/** Follows the stages before the last one below `folder`. What the image runs with is installed from the registry, as the Dockerfile says. */
export function installStages(folder: string): StageFolders {
  return playStages(folder, (command, stage) => {
    if (command.includes('--omit=dev')) runCommand(command, stage)
    else linkInstalled(command, stage)
  })
}

/** Assembles the file system of the last stage in the folder `image`, on the base of this Node. */
export function assembleLastStage(stages: StageFolders, image: string, node: string = process.execPath): Image {
  // The user of the image must reach what lies below.
  chmodSync(dirname(image), 0o711)
  const last = readStages().at(-1)
  if (last === undefined) throw new Error('The Dockerfile has no stage.')
  addBase(image, realpathSync(node))
  return followStage(last.instructions, image, stages)
}

function readStages(): Stage[] {
  return readDockerfile(readFileSync(DOCKERFILE, 'utf8'))
}

function playStages(folder: string, run: (command: string, stage: string) => void): StageFolders {
  const folders = readStages()
    .slice(0, -1)
    .map(({ name = '', instructions }) => {
      const stage = join(folder, name)
      mkdirSync(stage)
      for (const { name: instruction, flags, text } of instructions) {
        if (instruction === 'COPY' && flags.from === undefined) copyAll(root, stage, text)
        else if (instruction === 'RUN') run(text, stage)
        else if (instruction !== 'WORKDIR' || text !== WORKING_FOLDER)
          throw new Error(`An instruction of the stage ${name} that is not known: ${instruction} ${text}`)
      }
      return [name, stage]
    })
  return Object.fromEntries(folders)
}

/** A command of a stage, with links in place of an installation. A command that is not known must be added here. */
function linkInstalled(command: string, stage: string): void {
  switch (command) {
    case 'npm ci --ignore-scripts --workspaces=false':
      linkTree(join(root, 'node_modules'), join(stage, 'node_modules'))
      break
    case 'npm run build':
      runCommand(command, stage)
      break
    case 'npm ci --omit=dev --ignore-scripts --workspaces=false && mkdir empty':
      linkProduction(stage)
      mkdirSync(join(stage, 'empty'))
      break
    default:
      throw new Error(`A command of the Dockerfile that is not known: ${command}`)
  }
}

function runCommand(command: string, folder: string): void {
  // Hooks of the test runner do not belong into a build.
  const { NODE_OPTIONS: _hooks, NODE_COMPILE_CACHE: _cache, ...variables } = process.env
  const env = { ...variables, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  execFileSync('sh', ['-c', command], { cwd: folder, env, stdio: 'pipe' })
}

function followStage(instructions: readonly Instruction[], image: string, stages: StageFolders): Image {
  let environment: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  let [user, group] = [0, 0]
  let workingFolder = '/'
  const volumes: string[] = []
  const ports: number[] = []
  let entrypoint: string[] = []
  let healthCheck: string[] = []
  let labels: Record<string, string> = {}
  for (const { name, flags, text } of instructions) {
    switch (name) {
      case 'COPY': {
        const stage = stages[flags.from ?? '']
        if (stage === undefined) throw new Error(`COPY of an unknown stage: ${flags.from}`)
        const words = text.split(/\s+/)
        copyAll(stage, image, words.map(word => word.replace(`${WORKING_FOLDER}/`, '')).join(' '))
        break
      }
      case 'ENV':
        environment = { ...environment, ...readPairs(text) }
        break
      case 'USER':
        ;[user = Number.NaN, group = Number.NaN] = text.split(':').map(Number)
        break
      case 'WORKDIR':
        workingFolder = text
        mkdirSync(join(image, text), { recursive: true })
        break
      case 'VOLUME':
        volumes.push(...readExecForm(text))
        break
      case 'EXPOSE':
        ports.push(Number(text))
        break
      case 'ENTRYPOINT':
        entrypoint = readExecForm(text)
        break
      case 'HEALTHCHECK':
        healthCheck = readExecForm(text.replace(/^CMD\s+/, ''))
        break
      case 'LABEL':
        labels = { ...labels, ...readPairs(text) }
        break
      case 'ARG':
      case 'STOPSIGNAL':
        break
      default:
        throw new Error(`The last stage has an instruction that needs a shell or is not known: ${name}`)
    }
  }
  return { folder: image, environment, user, group, workingFolder, volumes, ports, entrypoint, healthCheck, labels }
}

/** `COPY a b /target/`: a folder's content goes into the target, as Docker copies it. */
function copyAll(from: string, to: string, text: string): void {
  const words = text.split(/\s+/)
  const target = words.pop() ?? ''
  for (const word of words) {
    const source = join(from, word)
    const place = join(to, target, statSync(source).isFile() ? word : '')
    mkdirSync(dirname(place), { recursive: true })
    if (word.endsWith('node_modules')) linkTree(source, place)
    else cpSync(source, place, { recursive: true, filter: isInContext })
  }
}

/** What was built in the checkout is no part of the context of a build (`.dockerignore`). */
function isInContext(path: string): boolean {
  return !path.startsWith(join(root, 'ops/dashboard/dist'))
}

/** Hard links, because the trees have thousands of files. */
function linkTree(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  execFileSync('cp', ['-al', from, to])
}

interface Lock {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>
}

/** The tree that `npm ci --omit=dev` installs: the packages of the lock file that no development dependency alone needs. */
function linkProduction(folder: string): void {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  for (const [path, { dev, devOptional, link }] of Object.entries(packages)) {
    if (!path.startsWith('node_modules/') || dev || devOptional || link) continue
    // Packages for other systems are in the lock file and not installed; one inside another package comes along with it.
    const from = join(root, path)
    if (existsSync(from) && !existsSync(join(folder, path))) linkTree(from, join(folder, path))
  }
}

/** Node and the libraries that it is linked with: no shell, and no other program. */
function addBase(image: string, node: string): void {
  mkdirSync(join(image, dirname(NODE)), { recursive: true })
  cpSync(node, join(image, NODE))
  const libraries = execFileSync('ldd', [node], { encoding: 'utf8' }).matchAll(/(?:=> )?(\/\S+) \(0x/g)
  for (const [, path = ''] of libraries) {
    mkdirSync(dirname(join(image, path)), { recursive: true })
    cpSync(realpathSync(path), join(image, path))
  }
  for (const folder of ['proc', 'dev', 'tmp', 'etc', 'sys/fs/cgroup'])
    mkdirSync(join(image, folder), { recursive: true })
}
