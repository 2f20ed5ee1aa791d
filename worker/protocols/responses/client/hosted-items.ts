// Writes the output items of hosted tools: searches with their sources, pictures and 3D models.
// Other hosted tools have no item; the metadata of the response names them (responses.md 5.4, 5.5,
// 7.5 and 7.6, decisions.md 65).

import {
  assertNever,
  findFileKind,
  type GeneratedFile,
  type HostedToolEndEvent,
  type HostedToolProgressEvent,
  type HostedToolStartEvent,
  type NormalizedRequest,
  writeToolCallId
} from '../../../normalized/index.ts'
import { CallBlock } from './blocks.ts'
import { findImageTool } from './image-tool.ts'
import type { OutputList } from './output-list.ts'
import type { ResponsesImageGeneration, ResponsesModelGeneration, ResponsesWebSearch } from './schema.ts'

interface SearchRun {
  kind: 'search'
  outputIndex: number
  item: ResponsesWebSearch
  isCompletionReported: boolean
  isDone: boolean
}

/** The run of an image tool. It is done when its file has arrived, which may be after the end of the run. */
interface ImageRun {
  kind: 'image'
  outputIndex: number
  item: ResponsesImageGeneration
  status: 'running' | 'completed'
  isDone: boolean
}

export class HostedItems {
  readonly #list: OutputList
  readonly #request: NormalizedRequest
  readonly #runs = new Map<number, SearchRun | ImageRun>()
  /** Image runs in the order of their start. */
  readonly #images: ImageRun[] = []
  /** Every image run before this one is done. */
  #firstOpenImage = 0
  #hasImageCall = false

  constructor(list: OutputList, request: NormalizedRequest) {
    this.#list = list
    this.#request = request
  }

  start(event: HostedToolStartEvent): void {
    if (event.kind === 'web_search') this.#runs.set(event.index, this.#startSearch())
    else if (event.kind === 'image_generate' && !this.#callImageTool()) this.#runs.set(event.index, this.#startImage())
  }

  progress(event: HostedToolProgressEvent): void {
    const run = this.#runs.get(event.index)
    if (run === undefined || run.isDone) return
    const place = { item_id: run.item.id, output_index: run.outputIndex }
    const left = event.secondsLeft === undefined ? {} : { seconds_left: event.secondsLeft }
    switch (event.status) {
      case 'in-progress':
      case 'searching':
      case 'generating':
      case 'interpreting':
        if (run.kind === 'search') {
          const phase = event.status === 'searching' ? 'searching' : 'in_progress'
          this.#list.emit?.({ type: `response.web_search_call.${phase}`, ...place, ...left })
        } else {
          const phase = event.status === 'generating' ? 'generating' : 'in_progress'
          this.#list.emit?.({ type: `response.image_generation_call.${phase}`, ...place, ...left })
        }
        return
      case 'completed':
        // A picture is complete only when its file has arrived.
        if (run.kind === 'search') this.#reportSearchCompletion(run)
        return
      case 'failed':
        // The protocol has no failure event; the status of the finished item shows the failure.
        return
      default:
        assertNever(event.status)
    }
  }

  end(event: HostedToolEndEvent): void {
    const run = this.#runs.get(event.index)
    if (run === undefined || run.isDone) return
    if (run.kind === 'search') {
      if (event.query !== undefined) run.item.action.query = event.query
      run.item.action.sources = event.sources.map(({ url }) => ({ type: 'url', url }))
      this.#finishSearch(run, event.status)
    } else if (event.status === 'failed') this.#finishImage(run, 'failed')
    else run.status = 'completed'
  }

  /** Adds a file that the provider made. False for a file of a kind that has no item. */
  file(file: GeneratedFile): boolean {
    switch (findFileKind(file)) {
      case 'image':
        this.#addImage(file)
        return true
      case 'model':
        this.#addModel(file)
        return true
      default:
        return false
    }
  }

  #addImage(file: GeneratedFile): void {
    if (this.#callImageTool()) return
    const run = this.#findOpenImage() ?? this.#startImage()
    const { item } = run
    item.result = file.base64 ?? null
    item.file_id = file.fileId
    if (file.mediaType !== undefined) item.mime = file.mediaType
    if (file.target !== undefined) item.target = file.target
    this.#finishImage(run, 'completed')
  }

  #findOpenImage(): ImageRun | undefined {
    while (this.#images[this.#firstOpenImage]?.isDone === true) this.#firstOpenImage++
    return this.#images[this.#firstOpenImage]
  }

  /** The SDK defines no events for this item, so only the item itself is reported. */
  #addModel({ fileId, mediaType, target, url }: GeneratedFile): void {
    const item: ResponsesModelGeneration = {
      id: this.#list.createId('m3d'),
      type: 'model_3d_generate_call',
      status: 'in_progress',
      file_id: fileId
    }
    if (mediaType !== undefined) item.mime = mediaType
    if (target !== undefined) item.target = target
    if (url !== undefined) item.url = url
    const index = this.#list.add(item)
    item.status = 'completed'
    this.#list.finish(index, item)
  }

  /** Ends the response. A run that was reported as completed stays completed, even without a picture. */
  finish(): void {
    for (const run of this.#runs.values()) {
      if (run.isDone) continue
      if (run.kind === 'search') this.#finishSearch(run, run.isCompletionReported ? 'completed' : 'failed')
      else this.#finishImage(run, run.status === 'completed' ? 'completed' : 'failed')
    }
  }

  #startSearch(): SearchRun {
    const item: ResponsesWebSearch = {
      id: this.#list.createId('ws'),
      type: 'web_search_call',
      status: 'in_progress',
      action: { type: 'search', query: this.#request.echo?.userText ?? '', sources: [] }
    }
    const outputIndex = this.#list.add(item)
    return { kind: 'search', outputIndex, item, isCompletionReported: false, isDone: false }
  }

  #reportSearchCompletion(run: SearchRun): void {
    if (run.isCompletionReported) return
    run.isCompletionReported = true
    const place = { item_id: run.item.id, output_index: run.outputIndex }
    this.#list.emit?.({ type: 'response.web_search_call.completed', ...place })
  }

  #finishSearch(run: SearchRun, status: 'completed' | 'failed'): void {
    if (status === 'completed') this.#reportSearchCompletion(run)
    run.isDone = true
    run.item.status = status
    this.#list.finish(run.outputIndex, run.item)
  }

  #startImage(): ImageRun {
    const item: ResponsesImageGeneration = {
      id: this.#list.createId('ig'),
      type: 'image_generation_call',
      status: 'in_progress',
      result: null
    }
    const run: ImageRun = { kind: 'image', outputIndex: this.#list.add(item), item, status: 'running', isDone: false }
    this.#images.push(run)
    return run
  }

  #finishImage(run: ImageRun, status: 'completed' | 'failed'): void {
    run.isDone = true
    run.item.status = status
    if (status === 'completed') {
      const place = { item_id: run.item.id, output_index: run.outputIndex }
      this.#list.emit?.({ type: 'response.image_generation_call.completed', ...place })
    }
    this.#list.finish(run.outputIndex, run.item)
  }

  /** Writes a call of the client's own image tool, once per response. False when the client has no such tool. */
  #callImageTool(): boolean {
    const tool = findImageTool(this.#request)
    if (tool === undefined) return false
    if (this.#hasImageCall) return true
    this.#hasImageCall = true
    const { name, namespace } = tool
    // The upstream did not make this call, so its id holds no state id.
    const id = writeToolCallId({ stateId: undefined, name, callNumber: 0, nonce: this.#request.requestId })
    const call = new CallBlock(this.#list, namespace === undefined ? { id, name } : { id, name, namespace })
    call.add(JSON.stringify({ prompt: this.#request.echo?.userText ?? '' }))
    call.close('completed')
    return true
  }
}
