//! Places and shapes: from the forms of NGSI to GeoJSON (RFC 7946), and whether they lie as a query asks.

use geo::{
    Centroid as _, Coord, Distance as _, Geometry, Haversine, Intersects as _, LineString, Point, Polygon,
    Relate as _,
};

use super::json::{Arena, Json, write_double};

/// Of a geometry, kept or asked with: what is done with two of them takes longer than both are.
pub(crate) const POINTS_MAX: usize = 10_000;

/// `lat, lon`
fn point_of(text: &str) -> Option<Coord> {
    let (y, x) = text.split_once(',')?;
    let (y, x) = (y.trim().parse::<f64>().ok()?, x.trim().parse::<f64>().ok()?);
    (y.is_finite() && x.is_finite()).then_some(Coord { x, y })
}

fn points_of(value: &Json<'_>) -> Option<Vec<Coord>> {
    let Json::List(list) = value else { return None };
    (list.len() <= POINTS_MAX).then_some(())?;
    list.iter().map(|point| point_of(point.text()?)).collect()
}

fn box_of(corners: &[Coord]) -> Option<Polygon> {
    let [one, other] = corners[..] else { return None };
    Some(geo::Rect::new(one, other).to_polygon())
}

/// A value of a type for places as GeoJSON; none where it is none.
pub(crate) fn normalize(declared: &str, value: &Json<'_>) -> Option<String> {
    let geometry = match declared {
        "geo:point" => Geometry::Point(point_of(value.text()?)?.into()),
        "geo:line" => Geometry::LineString(points_of(value).filter(|points| points.len() > 1)?.into()),
        "geo:polygon" => {
            let ring = points_of(value).filter(|points| points.len() > 3)?;
            Geometry::Polygon(Polygon::new(LineString::new(ring), Vec::new()))
        }
        "geo:box" => Geometry::Polygon(box_of(&points_of(value)?)?),
        _ => {
            of_geojson(value)?;
            return Some(value.to_text());
        }
    };
    Some(geojson_of(&geometry))
}

/// What the forms of NGSI become.
fn geojson_of(geometry: &Geometry) -> String {
    let mut out = Vec::new();
    let mut list = |name: &str, depth: usize, points: &mut dyn Iterator<Item = Coord>| {
        out.extend_from_slice(format!("{{\"type\":\"{name}\",\"coordinates\":").as_bytes());
        out.resize(out.len() + depth, b'[');
        for (place, Coord { x, y }) in points.enumerate() {
            out.extend_from_slice(if place > 0 { b",[" } else { b"[" });
            write_double(&mut out, x);
            out.push(b',');
            write_double(&mut out, y);
            out.push(b']');
        }
        out.resize(out.len() + depth, b']');
        out.push(b'}');
    };
    match geometry {
        Geometry::Point(point) => list("Point", 0, &mut std::iter::once(point.0)),
        Geometry::LineString(line) => list("LineString", 1, &mut line.coords().copied()),
        Geometry::Polygon(polygon) => list("Polygon", 2, &mut polygon.exterior().coords().copied()),
        _ => {}
    }
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// The geometry that a text in GeoJSON is.
pub(crate) fn read(text: &str) -> Option<Geometry> {
    of_geojson(&Json::read(text.as_bytes(), &Arena::new()).ok()?)
}

fn of_geojson(value: &Json<'_>) -> Option<Geometry> {
    let name = value.member("type")?.text()?;
    if name == "Feature" {
        return of_geojson(value.member("geometry")?);
    }
    let coordinates = value.member("coordinates")?;
    let mut left = POINTS_MAX;
    Some(match name {
        "Point" => Geometry::Point(position(coordinates, &mut left)?.into()),
        "MultiPoint" => {
            let points: Vec<Point> = line(coordinates, &mut left)?.into_points();
            Geometry::MultiPoint(points.into())
        }
        "LineString" => Geometry::LineString(line(coordinates, &mut left).filter(|line| line.0.len() > 1)?),
        "MultiLineString" => {
            let lines =
                list(coordinates)?.iter().map(|of| line(of, &mut left)).collect::<Option<Vec<_>>>()?;
            Geometry::MultiLineString(geo::MultiLineString::new(lines))
        }
        "Polygon" => Geometry::Polygon(polygon(coordinates, &mut left)?),
        "MultiPolygon" => {
            let polygons =
                list(coordinates)?.iter().map(|of| polygon(of, &mut left)).collect::<Option<Vec<_>>>()?;
            Geometry::MultiPolygon(geo::MultiPolygon::new(polygons))
        }
        _ => return None,
    })
}

fn list<'a>(value: &Json<'a>) -> Option<&'a [Json<'a>]> {
    if let Json::List(list) = value { Some(list) } else { None }
}

fn position(value: &Json<'_>, left: &mut usize) -> Option<Coord> {
    *left = left.checked_sub(1)?;
    let number = |value: &Json<'_>| value.number().filter(|number| number.is_finite());
    let [x, y, ..] = list(value)? else { return None };
    Some(Coord { x: number(x)?, y: number(y)? })
}

fn line(value: &Json<'_>, left: &mut usize) -> Option<LineString> {
    let points: Vec<Coord> = list(value)?.iter().map(|of| position(of, left)).collect::<Option<_>>()?;
    Some(LineString::new(points))
}

fn polygon(value: &Json<'_>, left: &mut usize) -> Option<Polygon> {
    let mut rings = list(value)?.iter().map(|of| line(of, left).filter(|ring| ring.0.len() > 3));
    let exterior = rings.next()??;
    Some(Polygon::new(exterior, rings.collect::<Option<Vec<_>>>()?))
}

/// The middle of a geometry as `lat, lon`.
pub(crate) fn centroid_text(geojson: &str) -> Option<String> {
    let middle = read(geojson)?.centroid()?;
    let mut out = Vec::new();
    write_double(&mut out, middle.y());
    out.extend_from_slice(b", ");
    write_double(&mut out, middle.x());
    String::from_utf8(out).ok()
}

/// How a place has to lie to what a query names.
#[derive(Debug, Clone)]
pub(crate) struct GeoQuery {
    relation: Relation,
    geometry: Geometry,
}

#[derive(Debug, Clone, Copy)]
enum Relation {
    /// Metres between the middles.
    Near {
        least: f64,
        most: f64,
    },
    CoveredBy,
    Within,
    Contains,
    Overlaps,
    Equals,
    Intersects,
    Disjoint,
}

/// Why a geographical query cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeoFault {
    Invalid,
    /// It is part of the language, and not of what can be done.
    Unsupported,
}

impl GeoQuery {
    /// Of the parameters of a request, where there are any.
    pub(crate) fn read(
        georel: Option<&str>,
        geometry: Option<&str>,
        coords: Option<&str>,
    ) -> Result<Option<Self>, GeoFault> {
        if (georel, geometry, coords) == (None, None, None) {
            return Ok(None);
        }
        let (Some(georel), Some(geometry), Some(coords)) = (georel, geometry, coords) else {
            return Err(GeoFault::Invalid);
        };
        let relation = Relation::read(georel)?;
        let shape = shape(geometry, coords).ok_or(GeoFault::Invalid)?;
        Ok(Some(Self { relation, geometry: shape }))
    }

    /// In the words of NGSI-LD (ETSI GS CIM 009, clause 4.10): a type of `GeoJSON`, and its coordinates as JSON.
    pub(crate) fn of_geojson(georel: &str, geometry: &str, coordinates: &str) -> Result<Self, GeoFault> {
        let relation = match georel {
            "within" => Relation::Within,
            "contains" => Relation::Contains,
            "overlaps" => Relation::Overlaps,
            "equals" => Relation::Equals,
            "coveredBy" => return Err(GeoFault::Invalid),
            other => Relation::read(other)?,
        };
        let arena = Arena::new();
        let members = [
            ("type", Json::Text(geometry)),
            ("coordinates", Json::read(coordinates.as_bytes(), &arena).map_err(|_| GeoFault::Invalid)?),
        ];
        let geometry = of_geojson(&Json::Object(&members)).ok_or(GeoFault::Invalid)?;
        Ok(Self { relation, geometry })
    }

    /// Whether a place in GeoJSON lies so.
    pub(crate) fn holds(&self, geojson: &str) -> bool {
        let Some(place) = read(geojson) else { return false };
        match self.relation {
            Relation::Near { least, most } => {
                let (Some(one), Some(other)) = (place.centroid(), self.geometry.centroid()) else {
                    return false;
                };
                (least..=most).contains(&Haversine.distance(one, other))
            }
            Relation::CoveredBy => place.relate(&self.geometry).is_coveredby(),
            Relation::Within => place.relate(&self.geometry).is_within(),
            Relation::Contains => place.relate(&self.geometry).is_contains(),
            Relation::Overlaps => place.relate(&self.geometry).is_overlaps(),
            Relation::Equals => place.relate(&self.geometry).is_equal_topo(),
            Relation::Intersects => place.intersects(&self.geometry),
            Relation::Disjoint => !place.intersects(&self.geometry),
        }
    }
}

impl Relation {
    fn read(text: &str) -> Result<Self, GeoFault> {
        let mut parts = text.split(';').map(str::trim);
        match parts.next() {
            Some("coveredBy") => Ok(Self::CoveredBy),
            Some("intersects") => Ok(Self::Intersects),
            Some("disjoint") => Ok(Self::Disjoint),
            Some("equals") => Err(GeoFault::Unsupported),
            Some("near") => {
                let (mut least, mut most, mut is_bounded) = (0.0, f64::INFINITY, false);
                for part in parts {
                    let (name, number) = part.split_once([':', '=']).ok_or(GeoFault::Invalid)?;
                    let number = number.trim_start_matches('=').parse::<f64>();
                    let number = number.ok().filter(|number| *number >= 0.0).ok_or(GeoFault::Invalid)?;
                    match name {
                        "maxDistance" => most = number,
                        "minDistance" => least = number,
                        _ => return Err(GeoFault::Invalid),
                    }
                    is_bounded = true;
                }
                if is_bounded { Ok(Self::Near { least, most }) } else { Err(GeoFault::Invalid) }
            }
            _ => Err(GeoFault::Invalid),
        }
    }
}

fn shape(name: &str, coords: &str) -> Option<Geometry> {
    (coords.split(';').count() <= POINTS_MAX).then_some(())?;
    let points = coords.split(';').map(point_of).collect::<Option<Vec<Coord>>>()?;
    Some(match (name, &points[..]) {
        ("point", [point]) => Geometry::Point((*point).into()),
        ("line", [_, _, ..]) => Geometry::LineString(LineString::new(points)),
        ("polygon", [_, _, _, _, ..]) => Geometry::Polygon(Polygon::new(LineString::new(points), Vec::new())),
        ("box", corners) => Geometry::Polygon(box_of(corners)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_ngsi_become_geojson() {
        for (declared, value, geojson) in [
            ("geo:point", r#""41.5, 2.0""#, Some(r#"{"type":"Point","coordinates":[2.0,41.5]}"#)),
            (
                "geo:line",
                r#"["1,2","3,4"]"#,
                Some(r#"{"type":"LineString","coordinates":[[2.0,1.0],[4.0,3.0]]}"#),
            ),
            ("geo:line", r#"["1,2"]"#, None),
            (
                "geo:box",
                r#"["0,0","2,4"]"#,
                Some(
                    r#"{"type":"Polygon","coordinates":[[[4.0,0.0],[4.0,2.0],[0.0,2.0],[0.0,0.0],[4.0,0.0]]]}"#,
                ),
            ),
            (
                "geo:json",
                r#"{"type":"Point","coordinates":[1,2]}"#,
                Some(r#"{"type":"Point","coordinates":[1,2]}"#),
            ),
            ("geo:json", r#"{"type":"Point"}"#, None),
            ("geo:point", r#""here""#, None),
        ] {
            let arena = Arena::new();
            let value = Json::read(value.as_bytes(), &arena).unwrap();
            assert_eq!(normalize(declared, &value).as_deref(), geojson, "{declared}");
        }
        let middle = centroid_text(r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,2],[0,2],[0,0]]]}"#);
        assert_eq!(middle.as_deref(), Some("1.0, 2.0"));
    }

    #[test]
    fn places_lie_as_they_are_asked_for() {
        let barcelona = r#"{"type":"Point","coordinates":[2.17,41.38]}"#;
        let area = "41,2;41,3;42,3;42,2;41,2";
        for (georel, geometry, coords, holds) in [
            ("near;maxDistance:1000", "point", "41.381,2.171", Ok(true)),
            ("near;maxDistance:100", "point", "41.40,2.17", Ok(false)),
            ("near;minDistance:100", "point", "41.40,2.17", Ok(true)),
            ("coveredBy", "polygon", area, Ok(true)),
            ("coveredBy", "box", "43,2;44,3", Ok(false)),
            ("intersects", "box", "41,2;42,3", Ok(true)),
            ("disjoint", "polygon", area, Ok(false)),
            ("equals", "point", "1,2", Err(GeoFault::Unsupported)),
            ("near", "point", "1,2", Err(GeoFault::Invalid)),
            ("coveredBy", "polygon", "1,2;3,4", Err(GeoFault::Invalid)),
            ("coveredBy", "circle", "1,2", Err(GeoFault::Invalid)),
        ] {
            let query = GeoQuery::read(Some(georel), Some(geometry), Some(coords));
            let found = query.map(|query| query.is_some_and(|query| query.holds(barcelona)));
            assert_eq!(found, holds, "{georel} {geometry}");
        }
        assert!(GeoQuery::read(None, None, None).is_ok_and(|query| query.is_none()));
        let square = "[[[2,41],[3,41],[3,42],[2,42],[2,41]]]";
        for (georel, geometry, coordinates, holds) in [
            ("near;maxDistance==1000", "Point", "[2.171,41.381]", Ok(true)),
            ("near;minDistance==1000", "Point", "[2.171,41.381]", Ok(false)),
            ("within", "Polygon", square, Ok(true)),
            ("contains", "Polygon", square, Ok(false)),
            ("overlaps", "Polygon", square, Ok(false)),
            ("equals", "Point", "[2.17,41.38]", Ok(true)),
            ("equals", "Point", "[2.17,41.39]", Ok(false)),
            ("disjoint", "Polygon", square, Ok(false)),
            ("intersects", "MultiPoint", "[[2.17,41.38],[0,0]]", Ok(true)),
            ("coveredBy", "Polygon", square, Err(GeoFault::Invalid)),
            ("within", "polygon", square, Err(GeoFault::Invalid)),
            ("within", "Polygon", "2,41", Err(GeoFault::Invalid)),
            ("near;maxDistance==-1", "Point", "[0,0]", Err(GeoFault::Invalid)),
        ] {
            let query = GeoQuery::of_geojson(georel, geometry, coordinates);
            assert_eq!(query.map(|query| query.holds(barcelona)), holds, "{georel} {geometry}");
        }
        assert!(GeoQuery::read(Some("coveredBy"), None, Some(area)).is_err());
    }
}
