// Assembles the file system of the container in a folder, without a container engine: the first stages are played in a copy of the checkout,
// and the instructions of the last one are followed as they stand, so that the Dockerfile and what is tested cannot differ.

import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Instruction, readDockerfile, readExecForm, readPairs } from './dockerfile.ts'

const root = join(import.meta.dirname, '../../..')
export const DOCKERFILE = join(root, 'ops/container/Dockerfile')
/** Where the base image has it. */
const NODE = 'usr/local/bin/node'

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

/** Builds the product in a copy and assembles the image below `folder`. */
export function assembleImage(folder: string): Image {
  // The user of the image must reach what lies below.
  chmodSync(folder, 0o711)
  const stages = readDockerfile(readFileSync(DOCKERFILE, 'utf8'))
  const last = stages.at(-1)
  if (last === undefined) throw new Error('The Dockerfile has no stage.')
  const build = join(folder, 'build')
  for (const { name, flags, text } of stages.find(stage => stage.name === 'build')?.instructions ?? []) {
    if (name === 'COPY' && flags.from === undefined) copyAll(root, build, text)
  }
  linkTree(join(root, 'node_modules'), join(build, 'node_modules'))
  execFileSync('npm', ['run', '--silent', 'build'], {
    cwd: build,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      NODE_COMPILE_CACHE: '',
      PATH: `${build}/node_modules/.bin:${process.env.PATH}`
    }
  })
  const dependencies = join(folder, 'dependencies')
  linkProduction(dependencies)
  const image = join(folder, 'root')
  addBase(image)
  return followStage(last.instructions, image, { build, dependencies })
}

function followStage(instructions: readonly Instruction[], image: string, stages: Record<string, string>): Image {
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
        copyAll(stage, image, words.map(word => word.replace(/^\/build\//, '')).join(' '))
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
    // A folder that a stage creates to copy it empty.
    if (word === '/empty') {
      mkdirSync(join(to, target), { recursive: true })
      continue
    }
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
function addBase(image: string): void {
  const node = realpathSync(process.execPath)
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
