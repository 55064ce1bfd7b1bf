//! Queries: times, attributes, conditions, places, representations, pages, and what is wrong with parameters.

use std::fmt::Write as _;

use expect_test::expect;

use super::{PREFIX, create, filled, shown, table};
use crate::tests::harness::Harness;

const A: &str = "/entities/urn:ngsi-ld:Vehicle:A";

#[test]
pub(crate) fn an_entity_is_retrieved_in_each_representation() {
    expect![[r#"
        /entities/urn:ngsi-ld:Vehicle:A
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":[{"type":"Property","value":"Mercedes","observedAt":"2020-08-01T12:03:00Z"}],"fuelLevel":[{"type":"Property","value":67.0,"observedAt":"2020-08-01T12:03:00Z"},{"type":"Property","value":53.0,"observedAt":"2020-08-01T13:05:00Z"},{"type":"Property","value":40.5,"observedAt":"2020-08-01T14:07:00Z"}],"isParkedIn":[{"type":"Relationship","object":"urn:ngsi-ld:Parking:1","observedAt":"2020-08-01T13:05:00Z"}],"location":[{"type":"GeoProperty","value":{"type":"Point","coordinates":[2.17,41.38]},"observedAt":"2020-08-01T12:03:00Z"},{"type":"GeoProperty","value":{"type":"Point","coordinates":[2.5,41.5]},"observedAt":"2020-08-01T14:07:00Z"}],"location_centroid":[{"type":"Property","value":"41.38, 2.17","observedAt":"2020-08-01T12:03:00Z"},{"type":"Property","value":"41.5, 2.5","observedAt":"2020-08-01T14:07:00Z"}],"speed":[{"type":"Property","value":120.0,"observedAt":"2020-08-01T12:03:00Z"},{"type":"Property","value":80.0,"observedAt":"2020-08-01T12:05:00Z"},{"type":"Property","value":100.0,"observedAt":"2020-08-01T12:07:00.500Z"}]}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,brandName&options=temporalValues
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":{"type":"Property","values":[["Mercedes","2020-08-01T12:03:00Z"]]},"speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"],[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=SPEED&format=simplified&options=sysAttrs
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"],[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?options=temporalValues,sysAttrs
          200 {"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","address":{"type":"Property","values":[[{"city":{"name":"Berlin"},"street":["A","B"]},"2020-08-01T12:00:00Z"]]},"isOn":{"type":"Property","values":[[true,"2020-08-01T12:00:00Z"],[false,"2020-08-01T12:10:00Z"]]},"names":{"type":"LanguageProperty","languageMaps":[[{"de":"Größe","en":"size"},"2020-08-01T12:00:00Z"]]},"serviced":{"type":"Property","values":[[{"@type":"DateTime","@value":"2020-07-01T00:00:00Z"},"2020-08-01T12:00:00Z"]]},"speed":{"type":"Property","values":[[10.0,"1970-01-01T00:00:00Z"],[-0.5,"9999-12-31T23:59:59.999Z"]]},"tags":{"type":"ListProperty","valueLists":[[["a",1,true],"2020-08-01T12:00:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?attrs=serviced,names&timeproperty=modifiedAt
          200 {"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","names":[{"type":"LanguageProperty","languageMap":{"de":"Größe","en":"size"},"modifiedAt":"2020-08-01T12:00:00Z"}],"serviced":[{"type":"Property","value":{"@type":"DateTime","@value":"2020-07-01T00:00:00Z"},"modifiedAt":"2020-08-01T12:00:00Z"}]}
        /entities/Room:1?type=Room
          200 {"id":"Room:1","type":"Room","TimeInstant":[{"type":"Property","value":{"@type":"DateTime","@value":"2024-01-01T00:30:00Z"},"observedAt":"2024-01-01T00:30:00Z"}],"count":[{"type":"Property","value":7,"observedAt":"2024-01-01T00:30:00Z"}],"note":[{"type":"Property","value":"say \"x\"","observedAt":"2024-01-01T00:30:00Z"}],"temperature":[{"type":"Property","value":21.5,"observedAt":"2024-01-01T00:30:00Z"}]}
        /entities/Room:1
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"there are entities `Room:1` of the types Room, Floor; name one with type","status":400}
        /entities/None
          404 {"type":"…/ResourceNotFound","title":"Resource not found","detail":"there is no entity `None`","status":404}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=none
          404 {"type":"…/ResourceNotFound","title":"Resource not found","detail":"the entity `urn:ngsi-ld:Vehicle:A` has none of the attributes none","status":404}
        /entities/urn:ngsi-ld:Vehicle:A?timeproperty=deletedAt
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle"}
        /entities/urn:ngsi-ld:Vehicle:A?timerel=after&timeAt=2030-01-01T00:00:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle"}
    "#]].assert_eq(&table(
        &filled(),
        &[
            A,
            &format!("{A}?attrs=speed,brandName&options=temporalValues"),
            &format!("{A}?attrs=SPEED&format=simplified&options=sysAttrs"),
            "/entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?options=temporalValues,sysAttrs",
            "/entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?attrs=serviced,names&timeproperty=modifiedAt",
            "/entities/Room:1?type=Room",
            "/entities/Room:1",
            "/entities/None",
            &format!("{A}?attrs=none"),
            &format!("{A}?timeproperty=deletedAt"),
            &format!("{A}?timerel=after&timeAt=2030-01-01T00:00:00Z"),
        ],
    ));
}

#[test]
pub(crate) fn times_bound_what_is_found() {
    let speed = |more: &str| format!("{A}?attrs=speed,fuelLevel&options=temporalValues&{more}");
    let targets = [
        "timerel=after&timeAt=2020-08-01T12:05:00Z",
        "timerel=before&timeAt=2020-08-01T12:05:00Z",
        "timerel=between&timeAt=2020-08-01T12:03:00Z&endTimeAt=2020-08-01T12:05:00Z",
        "timerel=between&timeAt=2020-08-01T12:05:00.000Z&endTimeAt=2020-08-01T12:05:00.001Z",
        "timerel=between&timeAt=2020-08-01T12:05:00Z&endTimeAt=2020-08-01T12:05:00Z",
        "timerel=after&timeAt=2020-08-01T16:07:00+02:00",
        "timerel=after&timeAt=2020-08-01T16:07:00%2B02:00",
        "lastN=1",
        "lastN=2&timerel=before&timeAt=2020-08-01T13:30:00Z",
        "lastN=100",
    ];
    let targets: Vec<String> = targets.into_iter().map(speed).collect();
    let mut targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    targets.extend([
        "/entities?type=Vehicle&attrs=speed&options=temporalValues&timerel=before&timeAt=1970-01-01T00:00:00.001Z",
        "/entities?type=Vehicle&attrs=speed&options=temporalValues&timerel=after&timeAt=9999-01-01T00:00:00Z",
        "/entities?type=Vehicle&timerel=after&timeAt=9999-12-31T23:59:59.999Z&lastN=1",
    ]);
    expect![[r#"
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=after&timeAt=2020-08-01T12:05:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[53.0,"2020-08-01T13:05:00Z"],[40.5,"2020-08-01T14:07:00Z"]]},"speed":{"type":"Property","values":[[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=before&timeAt=2020-08-01T12:05:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[67.0,"2020-08-01T12:03:00Z"]]},"speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=between&timeAt=2020-08-01T12:03:00Z&endTimeAt=2020-08-01T12:05:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[67.0,"2020-08-01T12:03:00Z"]]},"speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=between&timeAt=2020-08-01T12:05:00.000Z&endTimeAt=2020-08-01T12:05:00.001Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[80.0,"2020-08-01T12:05:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=between&timeAt=2020-08-01T12:05:00Z&endTimeAt=2020-08-01T12:05:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle"}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=after&timeAt=2020-08-01T16:07:00+02:00
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[40.5,"2020-08-01T14:07:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&timerel=after&timeAt=2020-08-01T16:07:00%2B02:00
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[40.5,"2020-08-01T14:07:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&lastN=1
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[40.5,"2020-08-01T14:07:00Z"]]},"speed":{"type":"Property","values":[[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&lastN=2&timerel=before&timeAt=2020-08-01T13:30:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[67.0,"2020-08-01T12:03:00Z"],[53.0,"2020-08-01T13:05:00Z"]]},"speed":{"type":"Property","values":[[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed,fuelLevel&options=temporalValues&lastN=100
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[67.0,"2020-08-01T12:03:00Z"],[53.0,"2020-08-01T13:05:00Z"],[40.5,"2020-08-01T14:07:00Z"]]},"speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"],[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities?type=Vehicle&attrs=speed&options=temporalValues&timerel=before&timeAt=1970-01-01T00:00:00.001Z
          200 [{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","values":[[10.0,"1970-01-01T00:00:00Z"]]}}]
        /entities?type=Vehicle&attrs=speed&options=temporalValues&timerel=after&timeAt=9999-01-01T00:00:00Z
          200 [{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","values":[[-0.5,"9999-12-31T23:59:59.999Z"]]}}]
        /entities?type=Vehicle&timerel=after&timeAt=9999-12-31T23:59:59.999Z&lastN=1
          200 [{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":[{"type":"Property","value":-0.5,"observedAt":"9999-12-31T23:59:59.999Z"}]}]
    "#]].assert_eq(&table(&filled(), &targets));
}

#[test]
pub(crate) fn conditions_are_asked_of_the_instances_of_the_time() {
    let queries = [
        "speed>100",
        "speed>100;timerel=after&timeAt=2020-08-01T12:04:00Z",
        "speed==80",
        "speed==70..90",
        "speed!=10;speed<0",
        "fuelLevel>=67;!isOn",
        "isOn==true|brandName==\"none\"",
        "isOn",
        "!speed",
        "brandName~=\"^merc\"",
        "brandName~=\"^Merc\"",
        "brandName!~=\"x\"",
        "brandName==\"BMW\",\"Mercedes\"",
        "isParkedIn==urn:ngsi-ld:Parking:1",
        "tags==\"a\"",
        "tags==2",
        "address[city.name]==\"Berlin\"",
        "address[street]==\"B\"",
        "address[city.zip]",
        "!address[city.zip];isOn",
        "names[de]~=\"öß\"",
        "serviced<2020-07-02T00:00:00Z",
        "serviced==2020-06-01..2020-07-01",
        "(speed>1000|speed<0);isOn",
        "note==\"say \\\"x\\\"\"",
        "unknown>1",
    ];
    let harness = filled();
    let mut text = String::new();
    for query in queries {
        let (query, time) = query
            .split_once(";timerel")
            .map_or((query, String::new()), |(query, time)| (query, format!("&timerel{time}")));
        let encoded = query
            .replace('"', "%22")
            .replace(';', "%3B")
            .replace('+', "%2B")
            .replace('\\', "%5C")
            .replace('>', "%3E");
        let target = format!(
            "{PREFIX}/entities?q={encoded}&attrs=none,speed,temperature,isOn&aggrMethods=totalCount{time}"
        );
        let responded = harness.request("GET", &target, &[], "");
        let found: Vec<&str> =
            responded.body.split("\"id\":\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        writeln!(text, "{query}{time}: {} {}", responded.status.as_u16(), found.join(", ")).unwrap();
    }
    expect![[r#"
        speed>100: 200 urn:ngsi-ld:Vehicle:A
        speed>100&timerel=after&timeAt=2020-08-01T12:04:00Z: 200 
        speed==80: 200 urn:ngsi-ld:Vehicle:A
        speed==70..90: 200 urn:ngsi-ld:Vehicle:A
        speed!=10;speed<0: 200 urn:ngsi-ld:Vehicle:B c/d
        fuelLevel>=67;!isOn: 200 urn:ngsi-ld:Vehicle:A
        isOn==true|brandName=="none": 200 urn:ngsi-ld:Vehicle:B c/d
        isOn: 200 urn:ngsi-ld:Vehicle:B c/d
        !speed: 200 Room:1
        brandName~="^merc": 200 
        brandName~="^Merc": 200 urn:ngsi-ld:Vehicle:A
        brandName!~="x": 200 urn:ngsi-ld:Vehicle:A
        brandName=="BMW","Mercedes": 200 urn:ngsi-ld:Vehicle:A
        isParkedIn==urn:ngsi-ld:Parking:1: 200 urn:ngsi-ld:Vehicle:A
        tags=="a": 200 urn:ngsi-ld:Vehicle:B c/d
        tags==2: 200 
        address[city.name]=="Berlin": 200 urn:ngsi-ld:Vehicle:B c/d
        address[street]=="B": 200 urn:ngsi-ld:Vehicle:B c/d
        address[city.zip]: 200 
        !address[city.zip];isOn: 200 urn:ngsi-ld:Vehicle:B c/d
        names[de]~="öß": 200 urn:ngsi-ld:Vehicle:B c/d
        serviced<2020-07-02T00:00:00Z: 200 urn:ngsi-ld:Vehicle:B c/d
        serviced==2020-06-01..2020-07-01: 200 urn:ngsi-ld:Vehicle:B c/d
        (speed>1000|speed<0);isOn: 200 urn:ngsi-ld:Vehicle:B c/d
        note=="say \"x\"": 200 Room:1
        unknown>1: 200 
    "#]]
    .assert_eq(&text);
}

#[test]
pub(crate) fn places_are_looked_for() {
    let square = "[[[2,41],[3,41],[3,42],[2,42],[2,41]]]";
    let near = |distance: &str| {
        format!(
            "/entities?type=Vehicle&attrs=fuelLevel&options=temporalValues&georel=near;{distance}&geometry=Point&coordinates=[2.5,41.5]"
        )
    };
    let targets = [
        near("maxDistance==10"),
        near("maxDistance==10") + "&timerel=before&timeAt=2020-08-01T13:00:00Z",
        near("minDistance==10000"),
        format!(
            "/entities?attrs=brandName&options=temporalValues&georel=within&geometry=Polygon&coordinates={square}"
        ),
        format!("/entities?attrs=brandName&georel=disjoint&geometry=Polygon&coordinates={square}"),
        format!(
            "/entities?attrs=brandName&georel=within&geometry=Polygon&coordinates={square}&geoproperty=brandName"
        ),
    ];
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    expect![[r#"
        /entities?type=Vehicle&attrs=fuelLevel&options=temporalValues&georel=near;maxDistance==10&geometry=Point&coordinates=[2.5,41.5]
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[67.0,"2020-08-01T12:03:00Z"],[53.0,"2020-08-01T13:05:00Z"],[40.5,"2020-08-01T14:07:00Z"]]}}]
        /entities?type=Vehicle&attrs=fuelLevel&options=temporalValues&georel=near;maxDistance==10&geometry=Point&coordinates=[2.5,41.5]&timerel=before&timeAt=2020-08-01T13:00:00Z
          200 []
        /entities?type=Vehicle&attrs=fuelLevel&options=temporalValues&georel=near;minDistance==10000&geometry=Point&coordinates=[2.5,41.5]
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","values":[[67.0,"2020-08-01T12:03:00Z"],[53.0,"2020-08-01T13:05:00Z"],[40.5,"2020-08-01T14:07:00Z"]]}}]
        /entities?attrs=brandName&options=temporalValues&georel=within&geometry=Polygon&coordinates=[[[2,41],[3,41],[3,42],[2,42],[2,41]]]
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":{"type":"Property","values":[["Mercedes","2020-08-01T12:03:00Z"]]}}]
        /entities?attrs=brandName&georel=disjoint&geometry=Polygon&coordinates=[[[2,41],[3,41],[3,42],[2,42],[2,41]]]
          200 []
        /entities?attrs=brandName&georel=within&geometry=Polygon&coordinates=[[[2,41],[3,41],[3,42],[2,42],[2,41]]]&geoproperty=brandName
          200 []
    "#]].assert_eq(&table(&filled(), &targets));
}

#[test]
pub(crate) fn values_are_put_together_by_period() {
    expect![[r#"
        /entities/urn:ngsi-ld:Vehicle:A?options=aggregatedValues&aggrMethods=avg&aggrPeriodDuration=PT1H&attrs=speed,fuelLevel
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","avg":[[67.0,"2020-08-01T12:03:00Z","2020-08-01T13:03:00Z"],[53.0,"2020-08-01T13:03:00Z","2020-08-01T14:03:00Z"],[40.5,"2020-08-01T14:03:00Z","2020-08-01T15:03:00Z"]]},"speed":{"type":"Property","avg":[[100.0,"2020-08-01T12:03:00Z","2020-08-01T13:03:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed&aggrMethods=totalCount,distinctCount,sum,avg,min,max,stddev,sumsq
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","totalCount":[[3,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"distinctCount":[[3,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"sum":[[300.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"avg":[[100.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"min":[[80.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"max":[[120.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"stddev":[[20.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"sumsq":[[30800.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=fuelLevel&aggrMethods=max&aggrPeriodDuration=PT2H&timerel=after&timeAt=2020-08-01T11:30:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","max":[[67.0,"2020-08-01T11:30:00Z","2020-08-01T13:30:00Z"],[40.5,"2020-08-01T13:30:00Z","2020-08-01T15:30:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?attrs=fuelLevel&aggrMethods=max&timerel=between&timeAt=2020-08-01T11:30:00Z&endTimeAt=2020-08-01T14:07:00Z
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","max":[[67.0,"2020-08-01T11:30:00Z","2020-08-01T14:07:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?aggrMethods=min,max,sum,totalCount&attrs=brandName,isParkedIn,location
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":{"type":"Property","min":[["Mercedes","2020-08-01T12:03:00Z","2020-08-01T12:03:00Z"]],"max":[["Mercedes","2020-08-01T12:03:00Z","2020-08-01T12:03:00Z"]],"totalCount":[[1,"2020-08-01T12:03:00Z","2020-08-01T12:03:00Z"]]},"isParkedIn":{"type":"Relationship","totalCount":[[1,"2020-08-01T13:05:00Z","2020-08-01T13:05:00Z"]]},"location":{"type":"GeoProperty","totalCount":[[2,"2020-08-01T12:03:00Z","2020-08-01T14:07:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?aggrMethods=sum,avg,max,distinctCount,stddev&attrs=isOn,serviced,tags
          200 {"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","isOn":{"type":"Property","sum":[[1,"2020-08-01T12:00:00Z","2020-08-01T12:10:00Z"]],"avg":[[0.5,"2020-08-01T12:00:00Z","2020-08-01T12:10:00Z"]],"max":[[1,"2020-08-01T12:00:00Z","2020-08-01T12:10:00Z"]],"distinctCount":[[2,"2020-08-01T12:00:00Z","2020-08-01T12:10:00Z"]],"stddev":[[0.7071067811865476,"2020-08-01T12:00:00Z","2020-08-01T12:10:00Z"]]},"serviced":{"type":"Property","max":[[{"@type":"DateTime","@value":"2020-07-01T00:00:00Z"},"2020-08-01T12:00:00Z","2020-08-01T12:00:00Z"]],"distinctCount":[[1,"2020-08-01T12:00:00Z","2020-08-01T12:00:00Z"]]},"tags":{"type":"ListProperty","distinctCount":[[1,"2020-08-01T12:00:00Z","2020-08-01T12:00:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?aggrMethods=max&attrs=speed&aggrPeriodDuration=P1Y
          200 {"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","max":[[10.0,"1970-01-01T00:00:00Z","1971-01-01T00:00:00Z"],[-0.5,"9999-01-01T00:00:00Z","+010000-01-01T00:00:00Z"]]}}
        /entities/Room:1?type=Room&aggrMethods=sum,avg,stddev&attrs=count
          200 {"id":"Room:1","type":"Room","count":{"type":"Property","sum":[[7,"2024-01-01T00:30:00Z","2024-01-01T00:30:00Z"]],"avg":[[7.0,"2024-01-01T00:30:00Z","2024-01-01T00:30:00Z"]],"stddev":[[null,"2024-01-01T00:30:00Z","2024-01-01T00:30:00Z"]]}}
        /entities?type=Vehicle&attrs=speed&aggrMethods=max&timerel=before&timeAt=2020-08-01T12:04:00Z
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","max":[[120.0,"2020-08-01T12:03:00Z","2020-08-01T12:04:00Z"]]}},{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","max":[[10.0,"1970-01-01T00:00:00Z","2020-08-01T12:04:00Z"]]}}]
        /entities?type=Vehicle&attrs=speed&aggrMethods=max&timerel=after&timeAt=2030-01-01T00:00:00Z&aggrPeriodDuration=P1M
          200 [{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","max":[[-0.5,"9999-12-01T00:00:00Z","+010000-01-01T00:00:00Z"]]}}]
        /entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&aggrMethods=max&attrs=brandName
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":{"type":"Property","values":[["Mercedes","2020-08-01T12:03:00Z"]]}}
    "#]].assert_eq(&table(
        &filled(),
        &[
            &format!("{A}?options=aggregatedValues&aggrMethods=avg&aggrPeriodDuration=PT1H&attrs=speed,fuelLevel"),
            &format!("{A}?attrs=speed&aggrMethods=totalCount,distinctCount,sum,avg,min,max,stddev,sumsq"),
            &format!("{A}?attrs=fuelLevel&aggrMethods=max&aggrPeriodDuration=PT2H&timerel=after&timeAt=2020-08-01T11:30:00Z"),
            &format!("{A}?attrs=fuelLevel&aggrMethods=max&timerel=between&timeAt=2020-08-01T11:30:00Z&endTimeAt=2020-08-01T14:07:00Z"),
            &format!("{A}?aggrMethods=min,max,sum,totalCount&attrs=brandName,isParkedIn,location"),
            "/entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?aggrMethods=sum,avg,max,distinctCount,stddev&attrs=isOn,serviced,tags",
            "/entities/urn:ngsi-ld:Vehicle:B%20c%2Fd?aggrMethods=max&attrs=speed&aggrPeriodDuration=P1Y",
            "/entities/Room:1?type=Room&aggrMethods=sum,avg,stddev&attrs=count",
            "/entities?type=Vehicle&attrs=speed&aggrMethods=max&timerel=before&timeAt=2020-08-01T12:04:00Z",
            "/entities?type=Vehicle&attrs=speed&aggrMethods=max&timerel=after&timeAt=2030-01-01T00:00:00Z&aggrPeriodDuration=P1M",
            &format!("{A}?options=temporalValues&aggrMethods=max&attrs=brandName"),
        ],
    ));
}

#[test]
pub(crate) fn entities_come_page_by_page() {
    expect![[r#"
        /entities?type=Room,Vehicle|Floor&attrs=speed,temperature,n&aggrMethods=totalCount&limit=2&count=true
          200 ngsild-results-count: 4 link: </ngsi-ld/v1/temporal/entities?type=Room,Vehicle|Floor&attrs=speed,temperature,n&aggrMethods=totalCount&limit=2&count=true&offset=2>; rel="next"; type="application/json" [{"id":"Room:1","type":"Floor","n":{"type":"Property","totalCount":[[1,"2024-01-01T00:30:00Z","2024-01-01T00:30:00Z"]]}},{"id":"Room:1","type":"Room","temperature":{"type":"Property","totalCount":[[1,"2024-01-01T00:30:00Z","2024-01-01T00:30:00Z"]]}}]
        /entities?type=Room,Vehicle|Floor&attrs=speed,temperature,n&aggrMethods=totalCount&limit=2&offset=2
          200 link: </ngsi-ld/v1/temporal/entities?type=Room,Vehicle|Floor&attrs=speed,temperature,n&aggrMethods=totalCount&limit=2&offset=0>; rel="prev"; type="application/json" [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","totalCount":[[3,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]]}},{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","totalCount":[[2,"1970-01-01T00:00:00Z","9999-12-31T23:59:59.999Z"]]}}]
        /entities?type=Vehicle&limit=1&offset=1&attrs=speed&aggrMethods=max&q=speed%3E1
          200 link: </ngsi-ld/v1/temporal/entities?type=Vehicle&limit=1&attrs=speed&aggrMethods=max&q=speed%3E1&offset=0>; rel="prev"; type="application/json" [{"id":"urn:ngsi-ld:Vehicle:B c/d","type":"Vehicle","speed":{"type":"Property","max":[[10.0,"1970-01-01T00:00:00Z","9999-12-31T23:59:59.999Z"]]}}]
        /entities?type=Vehicle&limit=0&options=count
          200 ngsild-results-count: 2 []
        /entities?id=Room:1,urn:ngsi-ld:Vehicle:A,None&attrs=count,brandName&options=temporalValues,count
          200 ngsild-results-count: 2 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":{"type":"Property","values":[["Mercedes","2020-08-01T12:03:00Z"]]}},{"id":"Room:1","type":"Room","count":{"type":"Property","values":[[7,"2024-01-01T00:30:00Z"]]}}]
        /entities?idPattern=^Room:[0-9]$&attrs=n&options=temporalValues
          200 [{"id":"Room:1","type":"Floor","n":{"type":"Property","values":[[1.0,"2024-01-01T00:30:00Z"]]}}]
        /entities?idPattern=oom&attrs=n&options=temporalValues
          200 [{"id":"Room:1","type":"Floor","n":{"type":"Property","values":[[1.0,"2024-01-01T00:30:00Z"]]}}]
        /entities?type=None&count=true
          200 ngsild-results-count: 0 []
        /entities/?local=true&attrs=count&options=temporalValues
          200 [{"id":"Room:1","type":"Room","count":{"type":"Property","values":[[7,"2024-01-01T00:30:00Z"]]}}]
    "#]].assert_eq(&table(
        &filled(),
        &[
            "/entities?type=Room,Vehicle|Floor&attrs=speed,temperature,n&aggrMethods=totalCount&limit=2&count=true",
            "/entities?type=Room,Vehicle|Floor&attrs=speed,temperature,n&aggrMethods=totalCount&limit=2&offset=2",
            "/entities?type=Vehicle&limit=1&offset=1&attrs=speed&aggrMethods=max&q=speed%3E1",
            "/entities?type=Vehicle&limit=0&options=count",
            "/entities?id=Room:1,urn:ngsi-ld:Vehicle:A,None&attrs=count,brandName&options=temporalValues,count",
            "/entities?idPattern=^Room:[0-9]$&attrs=n&options=temporalValues",
            "/entities?idPattern=oom&attrs=n&options=temporalValues",
            "/entities?type=None&count=true",
            "/entities/?local=true&attrs=count&options=temporalValues",
        ],
    ));
}

#[test]
pub(crate) fn queries_are_sent_as_bodies() {
    let harness = filled();
    let mut text = String::new();
    for (target, body) in [
        (
            "",
            r#"{"type":"Query","entities":[{"type":"Vehicle"}],"attrs":["speed"],"temporalQ":{"timerel":"between","timeAt":"2020-08-01T12:05:00Z","endTimeAt":"2020-09-01T00:00:00Z","lastN":1}}"#,
        ),
        (
            "?options=temporalValues&limit=1",
            r#"{"entities":[{"id":"Room:1","type":"Room"},{"id":["Room:1"],"type":"Room,Floor"},{"idPattern":"Vehicle:B"}],"attrs":["n","count","isOn"]}"#,
        ),
        (
            "",
            r#"{"type":"Query","entities":[{"type":"Vehicle"}],"q":"speed>110","aggrParams":{"aggrMethods":["max","min"],"aggrPeriodDuration":"PT0S"},"attrs":["speed"]}"#,
        ),
        (
            "?count=true",
            r#"{"geoQ":{"georel":"near;maxDistance==10","geometry":"Point","coordinates":[2.5,41.5]},"attrs":["brandName"],"temporalQ":{"timerel":"after","timeAt":"2020-01-01T00:00:00Z","aggrMethods":"totalCount"}}"#,
        ),
        ("", "{"),
        ("", "[]"),
        ("", "{}"),
        ("", r#"{"type":"Subscription","entities":[{"type":"Vehicle"}]}"#),
        ("", r#"{"entities":{"type":"Vehicle"}}"#),
        ("", r#"{"entities":[{"type":"Vehicle"}],"temporalQ":{"lastN":0}}"#),
        ("", r#"{"entities":[{"type":"Vehicle"}],"temporalQ":{"lastN":1.5}}"#),
        ("", r#"{"entities":[{"type":"Vehicle"}],"aggrParams":{"aggrMethods":["median"]}}"#),
    ] {
        let target_path = format!("{PREFIX}/entityOperations/query{target}");
        let responded = harness.request("POST", &target_path, &["content-type: application/json"], body);
        writeln!(text, "{target} {body}\n  {}", shown(&responded)).unwrap();
    }
    let many = format!(r#"{{"entities":[{}]}}"#, vec![r#"{"type":"Vehicle"}"#; 101].join(","));
    let refused = harness.request("POST", &format!("{PREFIX}/entityOperations/query"), &[], &many);
    writeln!(text, "101 types\n  {}", shown(&refused)).unwrap();
    expect![[r#"
         {"type":"Query","entities":[{"type":"Vehicle"}],"attrs":["speed"],"temporalQ":{"timerel":"between","timeAt":"2020-08-01T12:05:00Z","endTimeAt":"2020-09-01T00:00:00Z","lastN":1}}
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":[{"type":"Property","value":100.0,"observedAt":"2020-08-01T12:07:00.500Z"}]}]
        ?options=temporalValues&limit=1 {"entities":[{"id":"Room:1","type":"Room"},{"id":["Room:1"],"type":"Room,Floor"},{"idPattern":"Vehicle:B"}],"attrs":["n","count","isOn"]}
          200 link: </ngsi-ld/v1/temporal/entityOperations/query?options=temporalValues&limit=1&offset=1>; rel="next"; type="application/json" [{"id":"Room:1","type":"Room","count":{"type":"Property","values":[[7,"2024-01-01T00:30:00Z"]]}}]
         {"type":"Query","entities":[{"type":"Vehicle"}],"q":"speed>110","aggrParams":{"aggrMethods":["max","min"],"aggrPeriodDuration":"PT0S"},"attrs":["speed"]}
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","max":[[120.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]],"min":[[80.0,"2020-08-01T12:03:00Z","2020-08-01T12:07:00.500Z"]]}}]
        ?count=true {"geoQ":{"georel":"near;maxDistance==10","geometry":"Point","coordinates":[2.5,41.5]},"attrs":["brandName"],"temporalQ":{"timerel":"after","timeAt":"2020-01-01T00:00:00Z","aggrMethods":"totalCount"}}
          200 ngsild-results-count: 1 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","brandName":{"type":"Property","totalCount":[[1,"2020-01-01T00:00:00Z","2020-08-01T12:03:00Z"]]}}]
         {
          400 {"type":"…/InvalidRequest","title":"Invalid request","detail":"the body is no JSON: EOF while parsing an object at line 1 column 1","status":400}
         []
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the body is to be an object","status":400}
         {}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the query is too wide: name type, attrs, q, georel, id or idPattern, or say local=true","status":400}
         {"type":"Subscription","entities":[{"type":"Vehicle"}]}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"`type` of the body is to be `Query`","status":400}
         {"entities":{"type":"Vehicle"}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"`entities` is to be a list of objects with id, idPattern or type","status":400}
         {"entities":[{"type":"Vehicle"}],"temporalQ":{"lastN":0}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"lastN is `0`, and is to be a whole number of at least 1","status":400}
         {"entities":[{"type":"Vehicle"}],"temporalQ":{"lastN":1.5}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"lastN is `1.5`, and is to be a whole number of at least 1","status":400}
         {"entities":[{"type":"Vehicle"}],"aggrParams":{"aggrMethods":["median"]}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"aggrMethods has `median`, and can have totalCount, distinctCount, sum, avg, min, max, stddev, sumsq","status":400}
        101 types
          403 {"type":"…/TooComplexQuery","title":"Too complex query","detail":"`entities` has more than 10000 parts, or 100 without an id","status":403}
    "#]].assert_eq(&text);
}

#[test]
fn faulty_parameters_are_refused() {
    let mut targets: Vec<String> = [
        "",
        "timerel=after&timeAt=2020-01-01T00:00:00Z",
        "type=Vehicle&timerel=during&timeAt=2020-01-01T00:00:00Z",
        "type=Vehicle&timerel=after",
        "type=Vehicle&timeAt=2020-01-01T00:00:00Z",
        "type=Vehicle&timerel=between&timeAt=2020-01-01T00:00:00Z",
        "type=Vehicle&timerel=between&timeAt=2020-01-02T00:00:00Z&endTimeAt=2020-01-01T00:00:00Z",
        "type=Vehicle&timerel=after&timeAt=2020-01-01",
        "type=Vehicle&timerel=after&timeAt=2020-13-01T00:00:00Z",
        "type=Vehicle&timeproperty=seenAt",
        "type=Vehicle&lastN=0",
        "type=Vehicle&limit=0",
        "type=Vehicle&limit=1001",
        "type=Vehicle&offset=-1",
        "type=Vehicle&options=keyValues",
        "type=Vehicle&count=yes",
        "type=Vehicle&options=aggregatedValues",
        "type=Vehicle&aggrMethods=median",
        "type=Vehicle&aggrMethods=max&aggrPeriodDuration=1h",
        "type=(A;B)",
        "idPattern=(",
        "q=speed=1",
        "type=Vehicle&georel=near;maxDistance==10",
        "type=Vehicle&georel=near&geometry=Point&coordinates=[1,2]",
        "type=Vehicle&scopeQ=/a",
        "type=Vehicle&pick=speed",
        "attrs=%ff",
    ]
    .map(|query| format!("/entities?{query}"))
    .into();
    targets.push(format!("/entities?type=Vehicle&q={}", "a;".repeat(3000) + "a"));
    targets.push(format!("/entities?idPattern={}", "x".repeat(1001)));
    let mut text = String::new();
    let harness = filled();
    for target in &targets {
        let responded = harness.request("GET", &format!("{PREFIX}{target}"), &[], "");
        writeln!(text, "{}\n  {}", target.get(10..80).unwrap_or(&target[10..]), shown(&responded)).unwrap();
    }
    expect![[r#"

          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the query is too wide: name type, attrs, q, georel, id or idPattern, or say local=true","status":400}
        timerel=after&timeAt=2020-01-01T00:00:00Z
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the query is too wide: name type, attrs, q, georel, id or idPattern, or say local=true","status":400}
        type=Vehicle&timerel=during&timeAt=2020-01-01T00:00:00Z
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timerel has `during`, and can have before, after, between","status":400}
        type=Vehicle&timerel=after
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timerel needs timeAt","status":400}
        type=Vehicle&timeAt=2020-01-01T00:00:00Z
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timeAt needs timerel: before, after or between","status":400}
        type=Vehicle&timerel=between&timeAt=2020-01-01T00:00:00Z
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timerel=between needs endTimeAt","status":400}
        type=Vehicle&timerel=between&timeAt=2020-01-02T00:00:00Z&endTimeAt=202
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"endTimeAt is before timeAt","status":400}
        type=Vehicle&timerel=after&timeAt=2020-01-01
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timeAt is `2020-01-01`, and is to be a time as in 2024-05-06T07:08:09Z","status":400}
        type=Vehicle&timerel=after&timeAt=2020-13-01T00:00:00Z
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timeAt is `2020-13-01T00:00:00Z`, and is to be a time as in 2024-05-06T07:08:09Z","status":400}
        type=Vehicle&timeproperty=seenAt
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"timeproperty has `seenAt`, and can have observedAt, createdAt, modifiedAt, deletedAt","status":400}
        type=Vehicle&lastN=0
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"lastN is `0`, and is to be a whole number of at least 1","status":400}
        type=Vehicle&limit=0
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"limit is `0`, and is to be a whole number of at least 1","status":400}
        type=Vehicle&limit=1001
          403 {"type":"…/TooManyResults","title":"Too many results","detail":"limit is 1001, and can be 1000 at most; page with offset","status":403}
        type=Vehicle&offset=-1
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"offset is `-1`, and is to be a whole number of at least 0","status":400}
        type=Vehicle&options=keyValues
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"options has `keyValues`, and can have normalized, temporalValues, simplified, aggregatedValues, sysAttrs, count, metadata","status":400}
        type=Vehicle&count=yes
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"count has `yes`, and can have true, false","status":400}
        type=Vehicle&options=aggregatedValues
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"aggregatedValues needs aggrMethods","status":400}
        type=Vehicle&aggrMethods=median
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"aggrMethods has `median`, and can have totalCount, distinctCount, sum, avg, min, max, stddev, sumsq","status":400}
        type=Vehicle&aggrMethods=max&aggrPeriodDuration=1h
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"aggrPeriodDuration is `1h`, and is to be a duration as in P1D or PT1H30M","status":400}
        type=(A;B)
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"an entity has one type: write types with commas between them in type","status":400}
        idPattern=(
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"idPattern `(`: it is no regular expression, or has look-around or back references","status":400}
        q=speed=1
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"q: at byte 5 there is `=1`, where an operator, `;`, `|` or the end is to be","status":400}
        type=Vehicle&georel=near;maxDistance==10
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"georel, geometry and coordinates go together","status":400}
        type=Vehicle&georel=near&geometry=Point&coordinates=[1,2]
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"georel is near;maxDistance==METRES, near;minDistance==METRES, within, contains, intersects, overlaps, equals or disjoint, geometry a type of GeoJSON, coordinates its coordinates as JSON","status":400}
        type=Vehicle&scopeQ=/a
          422 {"type":"…/OperationNotSupported","title":"Operation not supported","detail":"scopeQ is not supported; leave it out","status":422}
        type=Vehicle&pick=speed
          422 {"type":"…/OperationNotSupported","title":"Operation not supported","detail":"pick is not supported; leave it out","status":422}
        attrs=%ff
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"attrs: the value is not UTF-8 in percent-encoding","status":400}
        type=Vehicle&q=a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a
          403 {"type":"…/TooComplexQuery","title":"Too complex query","detail":"q has 6001 bytes, and the limit is 4096; ask in parts","status":403}
        idPattern=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"idPattern has 1001 bytes, and the limit is 1000; ask with a shorter one","status":400}
    "#]].assert_eq(&text);
}

#[test]
pub(crate) fn json_ld_has_a_context() {
    let harness = filled();
    let get = |accept: &str| {
        let header = format!("accept: {accept}");
        harness
            .request(
                "GET",
                &format!("{PREFIX}/entities?type=Room&attrs=count&options=temporalValues"),
                &[&header],
                "",
            )
            .body
    };
    let plain = get("application/json");
    assert!(!plain.contains("@context"), "{plain}");
    assert_eq!(get("*/*"), plain);
    assert_eq!(get("application/json, application/ld+json"), plain);
    expect![[r#"[{"id":"Room:1","type":"Room","@context":"https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.6.jsonld","count":{"type":"Property","values":[[7,"2024-01-01T00:30:00Z"]]}}]"#]]
        .assert_eq(&get("application/ld+json;q=1, application/json;q=0.5"));
}

#[test]
fn many_entities_are_streamed() {
    let harness = Harness::new();
    for entity in 0..700 {
        let body = format!(
            r#"{{"id":"E:{entity:03}","type":"T","n":[{{"value":{entity},"observedAt":"2024-01-01T00:00:00Z"}},{{"value":0,"observedAt":"2024-01-01T00:01:00Z"}}]}}"#
        );
        assert_eq!(create(&harness, &body).status.as_u16(), 201);
    }
    let get = |query: &str| harness.request("GET", &format!("{PREFIX}/entities?type=T&{query}"), &[], "");
    let all = get("limit=1000&options=temporalValues,count");
    assert!(all.is_long);
    assert_eq!(all.headers, [("ngsild-results-count".to_owned(), "700".to_owned())]);
    assert_eq!(all.body.matches("\"id\"").count(), 700);
    serde_json::from_str::<serde_json::Value>(&all.body).unwrap();
    let found = get("q=n%3E697&options=temporalValues");
    assert!(found.is_long);
    expect![[r#"[{"id":"E:698","type":"T","n":{"type":"Property","values":[[698.0,"2024-01-01T00:00:00Z"],[0.0,"2024-01-01T00:01:00Z"]]}},{"id":"E:699","type":"T","n":{"type":"Property","values":[[699.0,"2024-01-01T00:00:00Z"],[0.0,"2024-01-01T00:01:00Z"]]}}]"#]]
        .assert_eq(&found.body);
    let refused = get("q=n%3E697&limit=1001");
    assert_eq!(refused.status.as_u16(), 403);
}
