// A chart over time: a canvas by uPlot, and a legend that names values at the pointer, or else over the whole range. Names, bars and a drawn
// range lead to the records that they count.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { Series } from '../data/figures.ts'
import { formatClock, formatDay, formatDayOfUtc } from '../data/format.ts'
import type { Bucket } from '../data/ranges.ts'

export interface ChartProps {
  readonly title: string
  /** Said to readers who do not see the canvas. */
  readonly summary: string
  readonly parts: readonly number[]
  readonly bucket: Bucket
  readonly series: readonly Series[]
  /** Bars of one part stand on each other: their values can be added. */
  readonly kind: 'bars' | 'lines'
  readonly format: (value: unknown) => string
  /** Of the numbers at the axis, where they are shorter. */
  readonly formatAxis?: (value: unknown) => string
  /** Changes when the colors have changed. */
  readonly theme: string
  /** Called with the times of a bar, or of a drawn range. */
  readonly onPick?: (bounds: { readonly fromMs: number; readonly toMs: number }) => void
  /** The address that a name of the legend leads to. */
  readonly linkTo?: (series: Series) => string | undefined
}

const HEIGHT = 168
const SERIES_COLORS = 6
const DRAG_PX_MIN = 5
const DAY = 86_400
/** Charts of one page show the same time at the pointer. */
const SYNC = uPlot.sync('time')

export function Chart(props: ChartProps) {
  const { title, summary, parts, bucket, series, kind, format, formatAxis = format, theme, onPick, linkTo } = props
  const frame = useRef<HTMLDivElement>(null)
  const [index, setIndex] = useState<number | null>(null)
  // A handler of the newest drawing, without drawing again for it.
  const pick = useRef(onPick)
  pick.current = onPick
  const data = useMemo(() => layData(parts, series, kind), [parts, series, kind])
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const color = (name: string) => readColor(element, name)
    const font = `11px ${getComputedStyle(element).fontFamily}`
    const axis = { stroke: color('--muted'), font, grid: { stroke: color('--grid'), width: 1 }, ticks: { show: false } }
    const bars = uPlot.paths.bars?.({ size: [0.86, 60], align: 1 })
    const end = (parts.at(-1) ?? 0) + bucket
    let hasDragged = false
    const select = (fromSecond: number, toSecond: number) =>
      pick.current?.({ fromMs: fromSecond * 1000, toMs: toSecond * 1000 - 1 })
    const partAt = (second: number) => Math.floor(second / bucket) * bucket
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        padding: [8, 16, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          points: { size: 5 },
          drag: { x: onPick !== undefined, y: false, setScale: false, dist: DRAG_PX_MIN },
          sync: { key: SYNC.key, setSeries: false }
        },
        scales: {
          x: { range: () => [parts[0] ?? 0, end] },
          y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, Number.EPSILON) * 1.08 || 1] }
        },
        axes: [
          { ...axis, grid: { show: false }, size: 24, space: 60, values: (_plot, at) => nameTimes(at, bucket, end) },
          { ...axis, size: 56, space: 34, values: (_plot, values) => values.map(formatAxis) }
        ],
        series: [
          {},
          ...data.order.map(place => {
            const stroke = color(series[place]?.color ?? `--series-${(place % SERIES_COLORS) + 1}`)
            return kind === 'bars' && bars !== undefined
              ? { stroke, fill: stroke, width: 0, paths: bars, points: { show: false } }
              : { stroke, width: 1.75, points: { show: true, size: 5, fill: stroke, filter: findPoints } }
          })
        ],
        hooks: {
          setCursor: [({ cursor: { idx } }) => setIndex(idx ?? null)],
          setSelect: [
            ({ select: { left, width } }) => {
              if (width < DRAG_PX_MIN || onPick === undefined) return
              hasDragged = true
              select(partAt(plot.posToVal(left, 'x')), partAt(plot.posToVal(left + width, 'x')) + bucket)
            }
          ]
        }
      },
      data.values as uPlot.AlignedData,
      element
    )
    const click = () => {
      const { left = -1 } = plot.cursor
      if (hasDragged || left < 0) {
        hasDragged = false
        return
      }
      const part = partAt(plot.posToVal(left, 'x'))
      select(part, part + bucket)
    }
    if (onPick !== undefined) plot.over.addEventListener('click', click)
    const resizing = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    resizing.observe(element)
    return () => {
      resizing.disconnect()
      plot.destroy()
      setIndex(null)
    }
  }, [parts, bucket, series, kind, data, formatAxis, theme, onPick === undefined])
  const at = index === null ? undefined : parts[index]
  return (
    <figure class={onPick === undefined ? 'card chart' : 'card chart pickable'}>
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="hint">{at === undefined ? '' : nameTime(at, bucket)}</span>
      </figcaption>
      <ul class="legend">
        {series.map((one, place) => {
          const value = index === null ? one.whole : (one.values[index] ?? null)
          const href = linkTo?.(one)
          return (
            <li key={one.label}>
              <span
                class="swatch"
                style={{ background: `var(${one.color ?? `--series-${(place % SERIES_COLORS) + 1}`})` }}
              />
              {href === undefined ? (
                <span class="legend-name" title={one.label}>
                  {one.label}
                </span>
              ) : (
                <a class="legend-name" href={href} title={one.label}>
                  {one.label}
                </a>
              )}
              <b class="number">{format(value)}</b>
            </li>
          )
        })}
      </ul>
      <div class="plot" role="img" aria-label={`${title}. ${summary}`} ref={frame} />
    </figure>
  )
}

const FEW_PARTS = 20

/** The places of the points that are drawn: all of few, and of many those that no line leads to. */
function findPoints({ data }: uPlot, series: number, _show: boolean, _gaps?: null | number[][]): number[] | null {
  const values = data[series] ?? []
  const isValue = (index: number) => values[index] !== null && values[index] !== undefined
  return [...values.keys()].filter(
    index => isValue(index) && (values.length <= FEW_PARTS || !(isValue(index - 1) || isValue(index + 1)))
  )
}

/** Bars are drawn from the longest to the shortest, each as long as all below it. */
function layData(parts: readonly number[], series: readonly Series[], kind: ChartProps['kind']) {
  const order = series.map((_, place) => place)
  if (kind === 'lines') return { order, values: [parts, ...series.map(({ values }) => values)] }
  const sums = parts.map(() => 0)
  const stacked = series.map(({ values }) => {
    for (const [place, value] of values.entries()) sums[place] = (sums[place] ?? 0) + (value ?? 0)
    return [...sums]
  })
  return { order: order.reverse(), values: [parts, ...stacked.reverse()] }
}

/** A label behind the last part would be cut. */
function nameTimes(seconds: readonly number[], bucket: Bucket, end: number): string[] {
  const isLong = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0) >= 2 * DAY
  return seconds.map(second => {
    if (second >= end) return ''
    if (bucket === DAY) return formatDayOfUtc(second * 1000)
    return isLong ? formatDay(second * 1000) : clockOf(second)
  })
}

function nameTime(second: number, bucket: Bucket): string {
  if (bucket === DAY) return formatDayOfUtc(second * 1000)
  return `${formatClock(second * 1000, Date.now())} – ${clockOf(second + bucket)}`
}

function clockOf(second: number): string {
  return formatClock(second * 1000, second * 1000)
}

/** A canvas needs the color itself, and a custom property may hold one for each scheme. */
function readColor(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
